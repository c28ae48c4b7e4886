import { expect, test } from 'vitest';
import { firstGuesses, isWeak } from '../../src/access/password-strength.ts';
import { createOrganization, OWNER_PASSWORD } from '../helpers/server.ts';

const WEAK = [
  ...['password', '12345678', 'qwertyuiop', 'iloveyou', 'aaaaaaaaaa', 'abcdefgh', '87654321', 'PASSWORD', 'p@ssword'],
  ...['passwordpassword', 'abcabcabcabc', 'a'.repeat(100), 'password'.repeat(12)],
];

test('a password of fewer than 10,000 guesses is refused, also one made of the address or the name', async () => {
  const { owner } = await createOrganization({}, { password: OWNER_PASSWORD });
  await owner.ok('PATCH', '/settings', { full_name: 'Wilhelmina Quartermain' });
  const change = (new_password: string) =>
    owner.rest('PATCH', '/settings', { old_password: OWNER_PASSWORD, new_password });
  const own = [owner.email, 'Wilhelmina', 'quartermain'];
  for (const password of [...WEAK, ...own]) {
    expect(await change(password), password).toMatchObject({
      status: 400,
      body: { code: 'BAD_REQUEST', msg: 'New password is too weak!' },
    });
  }
  expect(await change(`${'a'.repeat(50)}tidal sextant ledger`)).toMatchObject({ status: 200 });
});

test('an account cannot be created with a weak password', async () => {
  const { owner } = await createOrganization();
  const create = (password: string) =>
    owner.rest('POST', '/users', { email: 'saskia.overbeek@dock.example', full_name: 'Saskia Overbeek', password });
  for (const password of ['password', '12345678', 'overbeek', 'saskia.overbeek@dock.example']) {
    expect(await create(password), password).toMatchObject({
      status: 400,
      body: { code: 'BAD_REQUEST', msg: 'password is too weak.' },
    });
  }
  expect(await create('tidal sextant ledger')).toMatchObject({ status: 200 });
});

test('a password made of the words of the address, the name or the organization is weak', async () => {
  const organization = { name: 'Tarn & Fell Surveyors', subdomain: 'tarnfell-north' };
  const quint = { email: 'marlowe.quint@harbour-ops.example', fullName: 'Quint Marlowe', organization };
  const own = [
    ...[
      'marlowe.quint',
      'marlowequint',
      'quintmarlowe',
      'marlowe_quint',
      'MarloweQuint',
      'Quint-Marlowe',
      'quint marlowe',
    ],
    ...['harbour-ops', 'harbourops', 'opsharbour', 'harbour-ops.example', 'harbour.ops'],
    ...[
      'Surveyors',
      'tarnfell',
      'tarn & fell surveyors',
      'tarnfellsurveyors',
      'tarnfell-north',
      'northtarnfell',
      'm4rl0w3quint',
      'marlowemarlowe',
    ],
  ];
  for (const password of own) expect([password, await isWeak(password, quint)]).toEqual([password, true]);
  const rivers = { email: 'zr@example.com', fullName: 'Zoë Rivers', organization };
  for (const password of ['zoerivers', 'zoërivers', 'Zoe\u0308Rivers', 'riverszoe', 'example.com', 'rivers.zoë']) {
    expect([password, await isWeak(password, rivers)]).toEqual([password, true]);
  }
  const words = 'Αλεξάνδρα Πέτρου';
  for (const password of ['αλεξάνδραπέτρου', 'πετρου.αλεξανδρα', 'Πέτρου']) {
    expect([password, await isWeak(password, { ...rivers, fullName: words })]).toEqual([password, true]);
  }
  for (const password of ['tidal sextant ledger', 'kestrel quoin marlowe', 'x#9!k$2@']) {
    expect([password, await isWeak(password, quint)]).toEqual([password, false]);
  }
});

test('the number of guesses from an account is limited', () => {
  const long = Array.from({ length: 50 }, (_, i) => `é${i}`).join(' ');
  const guesses = firstGuesses({
    email: `${long.replaceAll(' ', '.')}@${long.replaceAll(' ', '.')}`,
    fullName: long,
    organization: { name: long, subdomain: long.replaceAll(' ', '-') },
  });
  expect(guesses.length).toBeLessThanOrEqual(400);
});
