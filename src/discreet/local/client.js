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

const ascending = (a, b) => a - b;

function choosePlaces(bits, size, count) {
  const chosen = new Set();
  for (let last = size - count; last < size; last++) {
    const drawn = Number(bits.below(last + 1));
    chosen.add(chosen.has(drawn) ? last : drawn);
  }
  return [...chosen].sort(ascending);
}

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

// numbers on a line: a level, then a place of a window, a column of a table, or discrete Laplace noise
function roundLevel(bits, value, size) {
  const place = (value + GRID) * BigInt(size - 1);
  return Number(place / (2n * GRID)) + (bits.coin(place % (2n * GRID), 2n * GRID) ? 1 : 0);
}

function answerWindow(bits, level, d) {
  const width = BigInt(d.width);
  const others = BigInt(d.size - 1);
  if (bits.coin(width * d.odds, width * d.odds + others * ONE)) return [level + Number(bits.below(width))];
  const place = Number(bits.below(others));
  return [place < level ? place : place + d.width];
}

// the first place at which the weights so far exceed what was drawn
function findWeight(weights, drawn) {
  let end = 0n;
  return weights.findIndex((weight) => drawn < (end += BigInt(weight)));
}

const sum = (weights) => weights.reduce((total, weight) => total + BigInt(weight), 0n);

function answerLaplace(bits, level, d) {
  let distance = 0;
  const negative = bits.coin(1n, 2n);
  if (!bits.coin(d.odds - ONE, d.odds + ONE)) {
    distance = 1;
    while (distance < d.size + d.reach && bits.coin(ONE, d.odds)) distance++;
  }
  const last = d.size + 2 * d.reach - 1;
  const place = level + d.reach + (negative ? -distance : distance);
  return [place < 0 ? 0 : place > last ? last : place];
}

// vertices of a cube that agree in so many places: inside the cap and outside, twice as many if ties are halved
function countAgreements({ asked, least, ties }) {
  const sides = [[], []];
  let count = ties ? 2n : 1n;
  for (let a = 0; a <= asked; a++) {
    const inside = ties && a === least ? count / 2n : a >= least ? count : 0n;
    sides[0].push(inside);
    sides[1].push(count - inside);
    count = (count * BigInt(asked - a)) / BigInt(a + 1);
  }
  return sides;
}

function answerCap(bits, value, d) {
  const vector = Array.isArray(value) ? value : [value];
  const places = choosePlaces(bits, vector.length, d.asked);
  const plus = places.map((place) => bits.coin(vector[place] + GRID, 2n * GRID));
  const sides = countAgreements(d);
  const [inside, outside] = sides.map(sum);
  const counts = bits.coin(inside * d.odds, inside * d.odds + outside * ONE) ? sides[0] : sides[1];
  const agreements = findWeight(counts, bits.below(sum(counts)));
  const agree = new Set(choosePlaces(bits, d.asked, agreements));
  return places.map((place, i) => 2 * place + (plus[i] === agree.has(i) ? 1 : 0));
}

// normal vectors and cones
const NORMAL = 30n;
const WHOLE = 1n << 200n;
const PEAK = ((10n ** 60n) << 200n) / 2506628274631000502415765284811045253006986740609938316629924n;

function isqrt(n) {
  if (n < 2n) return n;
  let x = 1n << BigInt(Math.ceil(n.toString(2).length / 2));
  for (;;) {
    const y = (x + n / x) >> 1n;
    if (y >= x) return x;
    x = y;
  }
}

function flipExp(bits, top, bottom) {
  let k = 1n;
  while (bits.coin(top, bottom * k)) k++;
  return k % 2n === 1n;
}

function drawNormal(bits) {
  const one = 1n << NORMAL;
  const all = (times, top, bottom) => {
    for (let i = 0; i < times; i++) if (!flipExp(bits, top, bottom)) return false;
    return true;
  };
  for (;;) {
    let k = 0;
    while (flipExp(bits, 1n, 2n)) k++;
    if (!all(k * (k - 1), 1n, 2n)) continue;
    const x = bits.below(one);
    if (!all(k, x, one) || !flipExp(bits, x * x, 2n * one * one)) continue;
    const negative = bits.coin(1n, 2n);
    if (negative && k === 0 && x === 0n) continue;
    const z = (BigInt(k) << NORMAL) + x;
    return negative ? -z : z;
  }
}

// a lower bound of the tail of the normal law, times 2^200
function tailBound(top, bottom) {
  let term = (top << 200n) / bottom;
  let total = 0n;
  let k = 0n;
  while (term > 0n) {
    const part = term / (2n * k + 1n);
    total += k % 2n === 0n ? part : -part;
    k++;
    term = (term * top * top) / (bottom * bottom * 2n * k);
  }
  return WHOLE / 2n - ((((total + (k << 40n)) * (PEAK + 2n)) >> 200n) + 1n);
}

function answerCone(bits, value, d) {
  const gamma = BigInt(d.gamma);
  const square = value.reduce((total, x) => total + x * x, 0n);
  const forwards = bits.coin((GRID << 20n) + isqrt(square << 40n), GRID << 21n);
  const some = square ? value : value.map((_, i) => (i === 0 ? 1n : 0n));
  const direction = forwards ? some : some.map((x) => -x);
  const length = direction.reduce((total, x) => total + x * x, 0n);
  const least = gamma ? tailBound(gamma, 1n << 20n) : WHOLE / 2n;
  const top = least * d.odds;
  const wanted = bits.coin(top, top + (WHOLE - least) * ONE);
  const found = {};
  while (!("true" in found && "false" in found)) {
    const z = value.map(() => drawNormal(bits));
    const along = z.reduce((total, x, i) => total + x * direction[i], 0n);
    const inside = gamma
      ? along > 0n && (along * along) << 40n >= (gamma * gamma * length) << (2n * NORMAL)
      : along > 0n || (along === 0n && bits.coin(1n, 2n));
    if (!(inside in found)) found[inside] = z;
  }
  const farthest = 12n << 12n;
  return found[wanted].map((x) => {
    const near = (x + (1n << 17n)) >> 18n;
    return Number(near > farthest ? farthest : near < -farthest ? -farthest : near);
  });
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
    const places = choosePlaces(bits, d.size - 1, d.chosen - (inside ? 1 : 0));
    const rest = places.map((other) => other + (other >= value ? 1 : 0));
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
  cap: answerCap,
  cone: answerCone,
  window: (bits, value, d) => answerWindow(bits, roundLevel(bits, value, d.size), d),
  table(bits, value, d) {
    const row = d.rows[roundLevel(bits, value, d.size)];
    return [findWeight(row, bits.below(sum(row)))];
  },
  hybrid(bits, value, d) {
    const level = roundLevel(bits, value, d.size);
    if (bits.coin(BigInt(d.heads), ONE)) return answerWindow(bits, level, d);
    const up = bits.coin(BigInt(level), BigInt(d.size - 1));
    return [d.size + d.width - 1 + (bits.coin(d.odds, d.odds + ONE) === up ? 1 : 0)];
  },
  laplace: (bits, value, d) => answerLaplace(bits, roundLevel(bits, value, d.size), d),
  // one of several questions, drawn without looking
  one(bits, values, d) {
    const which = Number(bits.below(d.parts.length));
    return [which, ...ANSWERS[d.parts[which].method](bits, values[which], d.parts[which])];
  },
};

// the largest ratio of two probabilities of a report, as [top, bottom]
const RATIOS = {
  sue: (d) => [d.odds * d.odds, ONE * ONE],
  laplace: (d) => [d.odds ** BigInt(d.size - 1), ONE ** BigInt(d.size - 1)],
  cone(d) {
    const allowance = d.gamma ? BigInt(d.gamma + 2 ** 21) * (isqrt(BigInt(d.size)) + 1n) : 0n;
    return [d.odds * ((1n << 50n) + 2n * allowance), ONE << 50n];
  },
  // of the column in which it is largest
  table: (d) =>
    d.columns
      .map((_, j) => d.rows.map((row) => BigInt(row[j])))
      .map((column) => [column.reduce((a, b) => (a > b ? a : b)), column.reduce((a, b) => (a < b ? a : b))])
      .reduce((a, b) => (a[0] * b[1] > b[0] * a[1] ? a : b)),
};
const ratioOf = (d) => (RATIOS[d.method] ?? ((one) => [one.odds, ONE]))(d);

// -- questions ----------------------------------------------------------------------------------------------------------

const GRID = 1n << 20n;

// a decimal as a fraction; a number of JavaScript is one too
function readBound(text) {
  const [top, bottom] = readFraction(text.replace(/^-/, ""));
  return [text.startsWith("-") ? -top : top, bottom];
}

function readNumber(value) {
  let bottom = 1n;
  while (!Number.isInteger(value)) {
    value *= 2;
    bottom *= 2n;
  }
  return [BigInt(value), bottom];
}

// the nearest place of a grid over the bounds; what is no number counts as the middle
function placeNumber(value, [low, under], [high, below]) {
  if (typeof value !== "number" || Number.isNaN(value)) return 0n;
  if (!Number.isFinite(value)) return value > 0 ? GRID : -GRID;
  const [top, bottom] = readNumber(value);
  // (value - low)/(high - low)·2·GRID + 1/2, rounded down
  const [share, range] = [(top * under - low * bottom) * below, (high * under - low * below) * bottom];
  const [up, down] = [share * 4n * GRID + range, 2n * range];
  const place = up < 0n ? 0n : up / down;
  return (place > 2n * GRID ? 2n * GRID : place) - GRID;
}

const divideDown = (a, b) => (a >= 0n || a % b === 0n ? a / b : a / b - 1n);
const countProducts = (d) => 3 * d + (d * (d - 1)) / 2 + 1;

const isBelow = (value, [top, bottom]) => {
  if (typeof value !== "number" || Number.isNaN(value)) return false;
  if (!Number.isFinite(value)) return value < 0;
  const [over, under] = readNumber(value);
  return over * bottom < top * under;
};

const QUESTIONS = {
  below: {
    fits: (_, d) => d.method in CHOICES && d.size === 2,
    encode: (question, value) => (isBelow(value, readBound(question.threshold)) ? 1 : 0),
  },
  // the products of a row, [features, target]
  products: {
    fits: (question, d) => d.method === "cap" && d.size === countProducts(question.low.length),
    encode(question, value) {
      const [x, y] = Array.isArray(value) && value.length === 2 ? value : [null, null];
      const parts = Array.isArray(x) && x.length === question.low.length ? x : question.low.map(() => null);
      const z = parts.map((part, i) => placeNumber(part, readBound(question.low[i]), readBound(question.high[i])));
      const found = question.target.findIndex((one) => one === y);
      const ends = question.classes ? [] : question.target.map(readBound);
      const t = !question.classes ? placeNumber(y, ...ends) : found < 0 ? 0n : GRID * BigInt(2 * found - 1);
      const pairs = z.flatMap((a, i) => z.slice(i + 1).map((b) => divideDown(a * b, GRID)));
      const squares = z.map((a) => divideDown(2n * a * a, GRID) - GRID);
      return [...z, ...squares, ...pairs, ...z.map((a) => divideDown(a * t, GRID)), t];
    },
  },
  // which of some beginnings a text has; the last place is for none of them
  prefix: {
    fits: (question, d) => d.method in CHOICES && d.size === question.prefixes.length + 1,
    encode(question, value) {
      const start = typeof value === "string" ? [...value].slice(0, [...question.prefixes[0]].length).join("") : null;
      const place = question.prefixes.indexOf(start);
      return place < 0 ? question.prefixes.length : place;
    },
  },
  // a number as its cell in each of several divisions
  tree: {
    parts: (question) =>
      Array.from({ length: question.depth }, (_, i) => ({
        kind: "choice",
        values: { length: question.base ** (i + 1) },
        other: null,
      })),
    encode(question, value) {
      const place = placeNumber(value, readBound(question.low), readBound(question.high)) + GRID;
      const cell = place < 2n * GRID ? place : 2n * GRID - 1n;
      return Array.from({ length: question.depth }, (_, i) =>
        Number((cell * BigInt(question.base) ** BigInt(i + 1)) / (2n * GRID)),
      );
    },
  },
  several: {
    parts: (question) => question.parts,
    encode: (question, value, bits) =>
      question.parts.map((part, i) => {
        const answers = value !== null && typeof value === "object" ? value : {};
        return QUESTIONS[part.kind].encode(part, answers[question.names[i]], bits);
      }),
  },
  number: {
    fits: (_, d) => ["window", "table", "hybrid", "laplace"].includes(d.method) || (d.method === "cap" && d.size === 1),
    encode: (question, value) => placeNumber(value, readBound(question.low), readBound(question.high)),
  },
  vector: {
    fits: (question, d) => d.method === (question.shape === "ball" ? "cone" : "cap") && d.size === question.size,
    encode(question, value) {
      const parts = Array.isArray(value) && value.length === question.size ? value : Array(question.size).fill(null);
      const [low, high] = [readBound(question.low), readBound(question.high)];
      const places = parts.map((part) => placeNumber(part, low, high));
      const longest = isqrt(places.reduce((total, x) => total + x * x, 0n)) + 1n;
      return question.shape === "ball" && longest > GRID ? places.map((x) => (x * GRID) / longest) : places;
    },
  },
  choice: {
    fits: (question, d) => d.method in CHOICES && d.size === question.values.length,
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

const CHOICES = {
  direct: () => true,
  coins: (d) => d.size === 2,
  subset: (d) => d.chosen >= 1 && d.chosen < d.size,
  oue: (d) => d.symmetric === 0,
  sue: (d) => d.symmetric === 1,
  hadamard: (d) => ones(d.order) === 1 && d.size < d.order && d.order <= 2 ** 24,
  hash: (d) => d.bins >= 2 && d.bins <= d.prime && d.size <= d.prime && d.prime < 2 ** 31 && isPrime(d.prime),
  projective: (d) => isPrime(d.q) && d.t >= 2 && d.q ** d.t <= 2 ** 24 && BigInt(d.size) <= points(d.q, d.t),
};
const isWindow = (d) => d.width >= 1 && d.size + d.width <= 2 ** 16;
const SOUND = {
  ...CHOICES,
  cap: (d) =>
    d.asked >= 1 && d.asked <= d.size && d.asked <= 4096 && 2 * d.least >= d.asked && d.least >= 1 && d.least <= d.asked &&
    (d.ties === 0 || (d.ties === 1 && 2 * d.least === d.asked)),
  cone: (d) => d.gamma >= 0 && d.gamma <= 6 * 2 ** 20,
  window: isWindow,
  hybrid: (d) => isWindow(d) && d.heads >= 0 && BigInt(d.heads) <= ONE,
  laplace: (d) => d.reach >= 1 && d.reach <= 2 ** 20,
  table: (d) =>
    d.rows.length === d.size &&
    d.rows.every((row) => row.length === d.columns.length && row.every((x) => x > 0) && sum(row) === sum(d.rows[0])),
};
const isWhole = (x) => (Array.isArray(x) ? x.every(isWhole) : Number.isSafeInteger(x));

const canonical = (value) => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
};

// a design from a document, checked to be sound, for its question, and to keep the promise
function readDesign(document, question, top, bottom) {
  const design = { ...document, odds: BigInt(document.odds) };
  const kind = QUESTIONS[question.kind];
  if (design.method === "one") {
    const parts = kind?.parts?.(question) ?? [];
    if (parts.length === 0 || parts.length !== design.parts.length) throw new Error("This survey does not fit together.");
    return { ...design, parts: parts.map((part, i) => readDesign(design.parts[i], part, top, bottom)) };
  }
  const whole = Object.entries(design).every(([key, x]) => key === "method" || key === "odds" || isWhole(x));
  const sound = whole && design.odds > ONE && design.size >= (design.method === "cap" ? 1 : 2);
  if (!sound || !SOUND[design.method]?.(design) || !kind?.fits?.(question, design)) {
    throw new Error("The numbers of this survey do not fit together.");
  }
  const [more, less] = ratioOf(design);
  if (more << 160n > oddsOf(top, bottom, 160n) * less) throw new Error("This survey tells more than its ε: it is not answered.");
  return design;
}

// a survey from its text, checked to keep its promise
export function readSurvey(text) {
  const survey = JSON.parse(text);
  if (survey.discreet !== "survey") throw new Error("This is not a survey of discreet.");
  if (survey.version !== 1) throw new Error(`This client reads surveys of version 1. Got ${survey.version}.`);
  const [top, bottom] = readFraction(survey.epsilon);
  if (top <= 0n || top > 16n * bottom) throw new Error("The ε of a survey is above 0 and at most 16.");
  return { ...survey, design: readDesign(survey.design, survey.question, top, bottom), text: canonical(survey) };
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
