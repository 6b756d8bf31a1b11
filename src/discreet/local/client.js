// The client of local privacy, for browsers and Node: whole numbers only, no dependencies, the same report as the
// Python device for the same bits. `new Device(store, budget).answer(surveyText, value)` pays, answers, and answers the
// same survey again with the same report. See docs/local.md; the proof is mechanisms/proofs/local.md.

const SHIFT = 48n;
const ONE = 1n << SHIFT;

// -- fair bits --------------------------------------------------------------------------------------------------------

export class Bits {
  // `read` fills a Uint8Array with random bytes; the object lives for one answer
  constructor(read = (bytes) => globalThis.crypto.getRandomValues(bytes)) {
    this.read = read;
    this.buffer = new DataView(new ArrayBuffer(256));
    this.used = 256;
  }

  word() {
    if (this.used === 256) {
      this.read(new Uint8Array(this.buffer.buffer));
      this.used = 0;
    }
    this.used += 8;
    return this.buffer.getBigUint64(this.used - 8);
  }

  // a BigInt uniform on 0 .. n-1, drawn again until it is one
  below(n) {
    n = BigInt(n);
    const length = n === 1n ? 0 : (n - 1n).toString(2).length;
    const words = Math.ceil(length / 64);
    for (;;) {
      let value = 0n;
      for (let i = 0; i < words; i++) value = (value << 64n) | this.word();
      value >>= BigInt(words * 64 - length);
      if (value < n) return value;
    }
  }

  coin(top, total) {
    return this.below(total) < top;
  }
}

// -- odds: never more than e^ε, for ε a decimal or a fraction as text ---------------------------------------------------

export function readFraction(text) {
  const parts = /^(\d+)(?:\.(\d+))?(?:e-(\d+))?$/.exec(text);
  if (parts) {
    const digits = (parts[2] ?? "").length + Number(parts[3] ?? 0);
    return [BigInt(parts[1] + (parts[2] ?? "")), 10n ** BigInt(digits)];
  }
  const ratio = /^(\d+)\/(\d+)$/.exec(text);
  if (!ratio || BigInt(ratio[2]) === 0n) throw new Error("The ε of this survey is no number.");
  return [BigInt(ratio[1]), BigInt(ratio[2])];
}

export function oddsOf(top, bottom, shift = SHIFT) {
  let term = 1n << (shift + 64n);
  let total = term;
  for (let i = 1n; term > 0n; i++) {
    term = (term * top) / (bottom * i);
    total += term;
  }
  return total >> 64n;
}

// -- one coin, then a uniform choice ------------------------------------------------------------------------------------

const others = (bits, value, size, count) => {
  const chosen = new Set();
  for (let last = size - 1 - count; last < size - 1; last++) {
    const drawn = Number(bits.below(last + 1));
    chosen.add(chosen.has(drawn) ? last : drawn);
  }
  return [...chosen].map((other) => other + (other >= value ? 1 : 0));
};

const ascending = (a, b) => a - b;

function direct(bits, value, size, odds) {
  if (bits.coin(odds, odds + BigInt(size - 1) * ONE)) return [value];
  const other = Number(bits.below(size - 1));
  return [other + (other >= value ? 1 : 0)];
}

function unary(bits, value, size, own, other) {
  const heads = [];
  for (let v = 0; v < size; v++) if (bits.coin(...(v === value ? own : other))) heads.push(v);
  return heads;
}

// points of the projective space of t coordinates modulo a prime q
const power = (q, t) => BigInt(q) ** BigInt(t);
const points = (q, t) => (power(q, t) - 1n) / BigInt(q - 1);
const digits = (number, q, count) =>
  Array.from({ length: count }, (_, i) => Number((BigInt(number) / power(q, count - 1 - i)) % BigInt(q)));

function findPoint(number, q, t) {
  number = BigInt(number);
  for (let lead = 0; lead < t; lead++) {
    const rest = power(q, t - 1 - lead);
    if (number < rest) return [...Array(lead).fill(0), 1, ...digits(number, q, t - 1 - lead)];
    number -= rest;
  }
  throw new Error("There are not so many points.");
}

function numberPoint(point, q) {
  const t = point.length;
  const lead = point.findIndex((x) => x !== 0);
  let inverse = 1;
  while ((point[lead] * inverse) % q !== 1) inverse++;
  let number = 0n;
  for (let i = 0; i < lead; i++) number += power(q, t - 1 - i);
  for (let i = lead + 1; i < t; i++) number += BigInt((point[i] * inverse) % q) * power(q, t - 1 - i);
  return Number(number);
}

function projective(bits, value, { q, t, odds }) {
  const all = points(q, t);
  const inside = points(q, t - 1);
  const plane = findPoint(value, q, t);
  const lead = plane.indexOf(1);
  const near = bits.coin(inside * odds, inside * odds + (all - inside) * ONE);
  const free = near ? findPoint(bits.below(inside), q, t - 1) : digits(bits.below(all - inside), q, t - 1);
  const point = [...free.slice(0, lead), 0, ...free.slice(lead)];
  const dot = plane.reduce((sum, x, i) => sum + x * point[i], 0);
  point[lead] = ((((near ? 0 : 1) - dot) % q) + q) % q;
  return [numberPoint(point, q)];
}

const ones = (number) => [...number.toString(2)].filter((digit) => digit === "1").length;

const ANSWERS = {
  direct: (bits, value, d) => direct(bits, value, d.size, d.odds),
  coins(bits, value, d) {
    const truth = bits.coin(d.odds - ONE, d.odds + ONE);
    const second = Number(bits.below(2));
    return [truth ? value : second];
  },
  subset(bits, value, d) {
    const s = BigInt(d.chosen);
    const inside = bits.coin(s * d.odds, s * d.odds + (BigInt(d.size) - s) * ONE);
    const rest = others(bits, value, d.size, d.chosen - (inside ? 1 : 0));
    return (inside ? [value, ...rest] : rest).sort(ascending);
  },
  oue: (bits, value, d) => unary(bits, value, d.size, [1n, 2n], [ONE, d.odds + ONE]),
  sue: (bits, value, d) => unary(bits, value, d.size, [d.odds, d.odds + ONE], [ONE, d.odds + ONE]),
  hadamard(bits, value, d) {
    const column = value + 1;
    const even = bits.coin(d.odds, d.odds + ONE);
    let row = Number(bits.below(d.order));
    if ((ones(row & column) % 2 === 0) !== even) row ^= column & -column;
    return [row];
  },
  hash(bits, value, d) {
    const a = 1n + bits.below(d.prime - 1);
    const b = bits.below(d.prime);
    const bin = Number(((a * BigInt(value) + b) % BigInt(d.prime)) % BigInt(d.bins));
    return [Number(a), Number(b), ...direct(bits, bin, d.bins, d.odds)];
  },
  projective,
};

// the largest ratio of two probabilities of a report, as [top, bottom]
const RATIOS = { sue: (d) => [d.odds * d.odds, ONE * ONE] };
const ratioOf = (d) => (RATIOS[d.method] ?? ((one) => [one.odds, ONE]))(d);

// -- questions ----------------------------------------------------------------------------------------------------------

const QUESTIONS = {
  choice: {
    size: (question) => question.values.length,
    // what the question does not know counts as its other value, or as one drawn uniformly
    encode(question, value, bits) {
      let place = question.values.findIndex((one) => one === value);
      if (place < 0 && question.other !== null) place = question.values.findIndex((one) => one === question.other);
      return place < 0 ? Number(bits.below(question.values.length)) : place;
    },
  },
};

// -- surveys ------------------------------------------------------------------------------------------------------------

const isPrime = (n) => {
  for (let k = 2; k * k <= n; k++) if (n % k === 0) return false;
  return n > 1;
};

const SOUND = {
  direct: () => true,
  coins: (d) => d.size === 2,
  subset: (d) => d.chosen >= 1 && d.chosen < d.size,
  oue: (d) => d.symmetric === 0,
  sue: (d) => d.symmetric === 1,
  hadamard: (d) => ones(d.order) === 1 && d.size < d.order && d.order <= 2 ** 24,
  hash: (d) => d.bins >= 2 && d.bins <= d.prime && d.size <= d.prime && d.prime < 2 ** 31 && isPrime(d.prime),
  projective: (d) => isPrime(d.q) && d.t >= 2 && d.q ** d.t <= 2 ** 24 && BigInt(d.size) <= points(d.q, d.t),
};

const canonical = (value) => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
};

// a survey from its text, checked to keep its promise
export function readSurvey(text) {
  const survey = JSON.parse(text);
  if (survey.discreet !== "survey") throw new Error("This is not a survey of discreet.");
  if (survey.version !== 1) throw new Error(`This client reads surveys of version 1. Got ${survey.version}.`);
  const kind = QUESTIONS[survey.question.kind];
  const design = { ...survey.design, odds: BigInt(survey.design.odds), size: kind?.size(survey.question) };
  const whole = Object.entries(design).every(([key, x]) => key === "method" || key === "odds" || Number.isSafeInteger(x));
  if (!whole || design.odds <= ONE || design.size < 2 || !SOUND[design.method]?.(design)) {
    throw new Error("The numbers of this survey do not fit together.");
  }
  const [top, bottom] = readFraction(survey.epsilon);
  const [more, less] = ratioOf(design);
  if (top <= 0n || top > 16n * bottom || more << 160n > oddsOf(top, bottom, 160n) * less) {
    throw new Error(`This survey tells more than its ε = ${survey.epsilon}: it is not answered.`);
  }
  return { ...survey, design, text: canonical(survey) };
}

// the numbers of a report, from bits
export function randomise(survey, value, bits = new Bits()) {
  const place = QUESTIONS[survey.question.kind].encode(survey.question, value, bits);
  return ANSWERS[survey.design.method](bits, place, survey.design);
}

export async function digest(survey) {
  const bytes = new Uint8Array(await globalThis.crypto.subtle.digest("SHA-256", new TextEncoder().encode(survey.text)));
  return `sha256:${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

// -- a person's device --------------------------------------------------------------------------------------------------

// `store` is localStorage or anything with getItem and setItem; one write holds charge and report together, so that a
// page that is closed at any moment has both or neither. Tabs of one browser take turns by a lock where there is one.
export class Device {
  constructor(store, budget) {
    this.store = store;
    this.budget = readFraction(String(budget));
  }

  read() {
    return JSON.parse(this.store.getItem("discreet") ?? '{"spent":["0","1"],"memos":{}}');
  }

  get left() {
    const [top, bottom] = this.read().spent.map(BigInt);
    return Number(this.budget[0] * bottom - top * this.budget[1]) / Number(this.budget[1] * bottom);
  }

  async answer(text, value) {
    const survey = readSurvey(text);
    const name = await digest(survey);
    const work = () => this.answerOnce(survey, name, value);
    const locks = globalThis.navigator?.locks;
    return locks ? locks.request("discreet", work) : work();
  }

  answerOnce(survey, name, value) {
    const state = this.read();
    if (!(name in state.memos)) {
      // charged first: cross-multiplied fractions
      const [top, bottom] = readFraction(survey.epsilon);
      const [spent, over] = state.spent.map(BigInt);
      const [sum, below] = [spent * bottom + top * over, over * bottom];
      if (sum * this.budget[1] > this.budget[0] * below) throw new Error("This survey does not fit into the budget.");
      state.spent = [String(sum), String(below)];
      state.memos[name] = randomise(survey, value);
      this.store.setItem("discreet", JSON.stringify(state));
    }
    return { r: state.memos[name], survey: name, v: 1 };
  }
}
