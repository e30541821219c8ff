/** Reads single lines of the notes. */

export type Parts = [name: string, weight: number][];
export type Entry =
  | { verb: 'person'; name: string }
  | { verb: 'paid'; name: string; cents: number; parts: Parts | null }
  | { verb: 'gave'; name: string; cents: number; to: string }
  | { verb: 'undo' };

const NAME = /^(?=.{1,16}$)[a-z]+(?:-+[a-z]+)*$/;
const AMOUNT = /^(0|[1-9][0-9]{0,4})(?:\.([0-9]{2}))?$/;
const PART = /^([^*]*)(?:\*([2-9]))?$/;

function parseName(text: string): string {
  if (!NAME.test(text)) {
    throw new Error(`'${text}' is not a name`);
  }
  return text;
}

/** Returns the cents of an AMOUNT. */
export function parseAmount(text: string): number {
  const found = AMOUNT.exec(text);
  const cents = found ? Number(found[1]) * 100 + Number(found[2] ?? 0) : 0;
  if (cents === 0) {
    throw new Error(`'${text}' is not an amount`);
  }
  return cents;
}

/** Returns names with their weights; null for `all`. */
export function parseWho(text: string): Parts | null {
  if (text === 'all') {
    return null;
  }
  const parts = text.split(',').map((each): Parts[number] => {
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

/** Returns the entry of a line; null where the line is ignored. */
export function parseEntry(line: string): Entry | null {
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
