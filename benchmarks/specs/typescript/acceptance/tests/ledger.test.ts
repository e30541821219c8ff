import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readNotes, share } from '../src/ledger.ts';

const PEOPLE = 'person ada\nperson bo\nperson cy\n';

/** Returns the balances after these lines, and that nothing was wrong with them. */
function balances(lines) {
  const ledger = readNotes(PEOPLE + lines);
  assert.deepEqual(ledger.faults, []);
  return Object.fromEntries(ledger.balances);
}

test('R-d1dd83 R-c7f8e8: cents left over go to the largest remainders, then by name', () => {
  assert.deepEqual([...share(100, [['cy', 1], ['bo', 1], ['ada', 1]])], [['cy', 33], ['bo', 33], ['ada', 34]]);
  assert.deepEqual([...share(200, [['cy', 1], ['bo', 1], ['ada', 1]])], [['cy', 66], ['bo', 67], ['ada', 67]]);
  assert.deepEqual([...share(101, [['ada', 1], ['bo', 2]])], [['ada', 34], ['bo', 67]]);
  assert.deepEqual([...share(100, [['ada', 1], ['bo', 2]])], [['ada', 33], ['bo', 67]]);
  assert.deepEqual([...share(1, [['cy', 9], ['bo', 1]])], [['cy', 1], ['bo', 0]]);
  assert.deepEqual([...share(9999999, [['ada', 9], ['bo', 2]])], [['ada', 8181817], ['bo', 1818182]]);
});

test('R-c4dc4e R-df92fb R-8afa74: a balance is paid and given less carried and received', () => {
  assert.deepEqual(balances('paid ada 12 for bo'), { ada: 1200, bo: -1200, cy: 0 });
  assert.deepEqual(balances('paid ada 12 for ada,bo\ngave bo 1 to ada'), { ada: 500, bo: -500, cy: 0 });
  assert.deepEqual(balances('paid ada 9 for ada*2,bo'), { ada: 300, bo: -300, cy: 0 });
});

test('R-3d548a: all are those whom the entries above brought in', () => {
  assert.deepEqual(balances('paid ada 9 for all'), { ada: 600, bo: -300, cy: -300 });
  const ledger = readNotes('person ada\nperson bo\npaid ada 9 for all\nperson cy');
  assert.deepEqual(Object.fromEntries(ledger.balances), { ada: 450, bo: -450, cy: 0 });
});

test('R-875901: balances sum up to zero', () => {
  for (let cents = 1; cents <= 60; cents += 1) {
    const amount = (cents / 100).toFixed(2);
    const found = balances(`paid bo ${amount} for ada*3,bo,cy*2\ngave cy 7 to ada\npaid cy ${amount} for all`);
    assert.equal(Object.values(found).reduce((sum, each) => sum + each, 0), 0, amount);
  }
});

test('R-12db35: undo takes back entry after entry', () => {
  assert.deepEqual(balances('paid ada 9 for all\nundo'), { ada: 0, bo: 0, cy: 0 });
  assert.deepEqual(balances('paid ada 1 for bo\npaid ada 9 for all\ngave bo 1 to cy\nundo\nundo'), { ada: 100, bo: -100, cy: 0 });
  const ledger = readNotes('person ada\nperson bo\nundo\nperson bo');
  assert.deepEqual([ledger.people, ledger.faults], [['ada', 'bo'], []]);
});

test('R-2f3eb3: undo is an error where nothing is left', () => {
  assert.deepEqual(readNotes('undo').faults.map((each) => each.slice(0, 8)), ['line 1: ']);
  assert.equal(readNotes('person ada\nundo\nundo').faults.length, 1);
  assert.deepEqual(readNotes('person ada\nperson ada\nundo').people, []);
});

test('R-cc601a: people are brought in once, and before they are named', () => {
  for (const line of ['person bo', 'paid di 1 for bo', 'paid bo 1 for di', 'gave di 1 to bo', 'gave bo 1 to di', 'paid di 1 for all']) {
    const { faults } = readNotes(PEOPLE + line);
    assert.equal(faults.length, 1, line);
    assert.match(faults[0], /^line 4: ./);
  }
});

test('R-1dac14 R-a8a667: an entry with an error changes nothing, and all lines count', () => {
  const ledger = readNotes('# trip\n\nperson ada\nwhat\nperson bo\npaid ada 2 for ada,di\npaid ada 2 for bo\n');
  assert.deepEqual(ledger.faults.map((each) => each.split(': ')[0]), ['line 4', 'line 6']);
  assert.deepEqual(Object.fromEntries(ledger.balances), { ada: 200, bo: -200 });
});

test('R-951b82: what was paid and who carries it', () => {
  const ledger = readNotes(`${PEOPLE}paid ada 9 for ada*2,bo\ngave bo 3 to ada\npaid cy 1 for cy\n`);
  assert.equal(ledger.total, 1000);
  assert.deepEqual(Object.fromEntries(ledger.carried), { ada: 600, bo: 300, cy: 100 });
  assert.deepEqual(ledger.people, ['ada', 'bo', 'cy']);
});
