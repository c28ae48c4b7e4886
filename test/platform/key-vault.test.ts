import { expect, test } from 'vitest';
import { KeyVault } from '../../src/platform/key-vault.ts';

const NONCE_BYTES = 12;

test('a sealed value can be opened only as a whole: no part is removed, changed or added', () => {
  const vault = new KeyVault('k'.repeat(48), undefined);
  const sealed = vault.seal('secret');
  expect(vault.open(sealed)).toBe('secret');
  for (let length = 0; length < sealed.length; length++) {
    expect(vault.canOpen(sealed.subarray(0, length)), `${length} bytes`).toBe(false);
  }
  for (const i of sealed.keys()) {
    expect(vault.canOpen(sealed.with(i, (sealed[i] ?? 0) ^ 1)), `byte ${i} changed`).toBe(false);
  }
  expect(vault.canOpen(Buffer.concat([sealed, Buffer.of(0)]))).toBe(false);
});

test('a value without a text needs the whole tag too', () => {
  const vault = new KeyVault('k'.repeat(48), undefined);
  const sealed = vault.seal('');
  expect(vault.open(sealed)).toBe('');
  // A tag of 4, 8 or 12 to 15 bytes would be easier to guess.
  for (let tag = 0; tag < sealed.length - NONCE_BYTES; tag++) {
    expect(vault.canOpen(sealed.subarray(0, NONCE_BYTES + tag)), `${tag} bytes`).toBe(false);
  }
});
