/** Reads the notes, and says what each person paid, carries and is owed. */

import { parseEntry, type Entry, type Parts } from './entry.ts';

export interface Ledger {
  people: string[];
  balances: Map<string, number>;
  carried: Map<string, number>;
  total: number;
  faults: string[];
}

/** Returns the cents that each name carries of an amount. */
export function share(cents: number, parts: Parts): Map<string, number> {
  const whole = parts.reduce((sum, [, weight]) => sum + weight, 0);
  const shares = parts.map(([name, weight]) => ({
    name,
    cents: Math.floor((cents * weight) / whole),
    remainder: (cents * weight) % whole,
  }));
  const left = cents - shares.reduce((sum, each) => sum + each.cents, 0);
  const favoured = [...shares].sort(
    (a, b) => b.remainder - a.remainder || (a.name < b.name ? -1 : 1),
  );
  for (const each of favoured.slice(0, left)) {
    each.cents += 1;
  }
  return new Map(shares.map((each) => [each.name, each.cents]));
}

/** Returns the parts of an entry that was paid, with all people so far for `all`. */
function checked(entry: Entry, before: Entry[]): Entry {
  const known = before.flatMap((each) => (each.verb === 'person' ? [each.name] : []));
  if (entry.verb === 'person') {
    if (known.includes(entry.name)) {
      throw new Error(`'${entry.name}' is there already`);
    }
    return entry;
  }
  if (entry.verb === 'undo') {
    if (before.length === 0) {
      throw new Error('nothing is left to take back');
    }
    return entry;
  }
  const named = entry.verb === 'gave' ? [entry.to] : (entry.parts ?? []).map(([name]) => name);
  for (const name of [entry.name, ...named]) {
    if (!known.includes(name)) {
      throw new Error(`'${name}' is not known`);
    }
  }
  if (entry.verb === 'paid' && entry.parts === null) {
    return { ...entry, parts: known.map((name) => [name, 1]) };
  }
  return entry;
}

/** Returns the entries that count, and the faults. */
function readEntries(text: string): { entries: Entry[]; faults: string[] } {
  const entries: Entry[] = [];
  const faults: string[] = [];
  text.split('\n').forEach((line, index) => {
    try {
      const parsed = parseEntry(line);
      const entry = parsed && checked(parsed, entries);
      if (entry?.verb === 'undo') {
        entries.pop();
      } else if (entry) {
        entries.push(entry);
      }
    } catch (error) {
      faults.push(`line ${index + 1}: ${(error as Error).message}`);
    }
  });
  return { entries, faults };
}

/** Returns what the notes come to. */
export function readNotes(text: string): Ledger {
  const { entries, faults } = readEntries(text);
  const people = entries.flatMap((each) => (each.verb === 'person' ? [each.name] : [])).sort();
  const balances = new Map(people.map((name) => [name, 0]));
  const carried = new Map(people.map((name) => [name, 0]));
  const add = (to: Map<string, number>, name: string, cents: number) =>
    to.set(name, (to.get(name) ?? 0) + cents);
  let total = 0;
  for (const entry of entries) {
    if (entry.verb === 'gave') {
      add(balances, entry.name, entry.cents);
      add(balances, entry.to, -entry.cents);
    } else if (entry.verb === 'paid') {
      total += entry.cents;
      add(balances, entry.name, entry.cents);
      for (const [name, cents] of share(entry.cents, entry.parts ?? [])) {
        add(balances, name, -cents);
        add(carried, name, cents);
      }
    }
  }
  return { people, balances, carried, total, faults };
}
