/**
 * Reads single lines of the notes.
 *
 * @typedef {[name: string, weight: number][]} Parts
 * @typedef {{ verb: 'person', name: string }} Person
 * @typedef {{ verb: 'paid', name: string, cents: number, parts: Parts | null }} Paid
 * @typedef {{ verb: 'gave', name: string, cents: number, to: string }} Gave
 * @typedef {{ verb: 'undo' }} Undo
 * @typedef {Person | Paid | Gave | Undo} Entry
 */

const NAME = /^(?=.{1,16}$)[a-z]+(?:-+[a-z]+)*$/;
const AMOUNT = /^(0|[1-9][0-9]{0,4})(?:\.([0-9]{2}))?$/;
const PART = /^([^*]*)(?:\*([2-9]))?$/;

/**
 * @param {string} text
 * @returns {string}
 */
function parseName(text) {
  if (!NAME.test(text)) {
    throw new Error(`'${text}' is not a name`);
  }
  return text;
}

/**
 * Returns the cents of an AMOUNT.
 * @param {string} text
 * @returns {number}
 */
export function parseAmount(text) {
  const found = AMOUNT.exec(text);
  const cents = found ? Number(found[1]) * 100 + Number(found[2] ?? 0) : 0;
  if (cents === 0) {
    throw new Error(`'${text}' is not an amount`);
  }
  return cents;
}

/**
 * Returns names with their weights; null for `all`.
 * @param {string} text
 * @returns {Parts | null}
 */
export function parseWho(text) {
  if (text === 'all') {
    return null;
  }
  /** @type {Parts} */
  const parts = text.split(',').map((each) => {
    const found = PART.exec(each);
    if (!found) {
      throw new Error(`'${each}' is not a name with a weight`);
    }
    return [parseName(found[1]), Number(found[2] ?? 1)];
  });
  if (new Set(parts.map(([name]) => name)).size < parts.length) {
    throw new Error(`'${text}' has a name twice`);
  }
  return parts;
}

/**
 * Returns the entry of a line; null where the line is ignored.
 * @param {string} line
 * @returns {Entry | null}
 */
export function parseEntry(line) {
  const text = line.trim();
  if (text === '' || text.startsWith('#')) {
    return null;
  }
  const [verb, ...words] = text.split(/\s+/);
  const form = `${verb} ${words.length}`;
  if (form === 'undo 0') {
    return { verb: 'undo' };
  }
  if (form === 'person 1') {
    return { verb: 'person', name: parseName(words[0]) };
  }
  if (form === 'paid 4' && words[2] === 'for') {
    const [name, amount, , who] = words;
    return { verb: 'paid', name: parseName(name), cents: parseAmount(amount), parts: parseWho(who) };
  }
  if (form === 'gave 4' && words[2] === 'to') {
    const [name, amount, , to] = words;
    if (name === to) {
      throw new Error(`'${name}' gives money to themselves`);
    }
    return { verb: 'gave', name: parseName(name), cents: parseAmount(amount), to: parseName(to) };
  }
  throw new Error(`'${text}' is not an entry`);
}
