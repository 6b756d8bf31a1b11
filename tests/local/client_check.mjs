// Run by test_client.py: the client gives the reports of vectors.json, pays first, and refuses what tells more.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [client, vectors] = process.argv.slice(2);
const { Bits, Device, digest, randomise, readSurvey } = await import(pathToFileURL(client));
const MASK = (1n << 64n) - 1n;

function bits(seed) {
  let i = 0n;
  return new Bits((bytes) => {
    const view = new DataView(bytes.buffer);
    for (let at = 0; at < bytes.length; at += 8) {
      i += 1n;
      let z = (BigInt(seed) + i * 0x9e3779b97f4a7c15n) & MASK;
      z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
      z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK;
      view.setBigUint64(at, z ^ (z >> 31n));
    }
  });
}

let same = 0;
const wrong = [];
for (const one of JSON.parse(readFileSync(vectors, "utf8"))) {
  const survey = readSurvey(one.survey);
  if ((await digest(survey)) !== one.digest) wrong.push(`digest of ${survey.name}`);
  one.reports.forEach((report, j) => {
    const made = randomise(survey, one.values[j % one.values.length], bits(one.seed + j));
    if (JSON.stringify(made) === JSON.stringify(report)) same += 1;
    else wrong.push(`${survey.name} ${j}: ${JSON.stringify(made)} for ${JSON.stringify(report)}`);
  });
}

// a person's device: the same report again, charged once, refused beyond the budget
const kept = new Map();
const store = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value) };
const text = (name, epsilon, odds) =>
  JSON.stringify({
    discreet: "survey",
    version: 1,
    name,
    question: { kind: "choice", values: ["a", "b"], other: null },
    epsilon,
    design: { method: "direct", odds, size: 2 },
  });
const W = "311077958426637"; // below e^0.1
const first = await new Device(store, "0.3").answer(text("0", "0.1", W), "a");
const again = await new Device(store, "0.3").answer(text("0", "0.1", W), "b");
const device = new Device(store, "0.3");
await device.answer(text("1", "0.1", W), "a");
await device.answer(text("2", "0.1", W), "a");
const errors = [];
for (const survey of [text("3", "0.1", W), text("4", "0.1", "321079095906137"), text("5", "0", W), "{}"]) {
  try {
    await device.answer(survey, "a");
    errors.push("none");
  } catch (error) {
    errors.push(error.message);
  }
}
console.log(JSON.stringify({ same, wrong: wrong.slice(0, 5), first, again, left: device.left, errors }));
