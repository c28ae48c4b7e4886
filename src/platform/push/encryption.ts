import sodium from 'libsodium-wrappers';

/** Length of the random number before each encrypted message, in bytes. */
const NONCE_BYTES = 24;

/**
 * Decrypts a text that was encrypted with the public key of one of the given private keys (X25519 sealed box).
 *
 * @param keys Private keys of 32 bytes.
 * @param publicKey Public key with which the text was encrypted, in base64.
 * @returns The text. "unknown key" if no private key has this public key, "invalid" if the text cannot be decrypted.
 */
export async function openSealed(
  keys: readonly Uint8Array[],
  publicKey: string,
  sealed: Uint8Array,
): Promise<{ readonly text: string } | 'unknown key' | 'invalid'> {
  await sodium.ready;
  const given = Buffer.from(publicKey, 'base64');
  const key = keys.find((one) => given.equals(sodium.crypto_scalarmult_base(one)));
  if (key === undefined) return 'unknown key';
  try {
    return { text: Buffer.from(sodium.crypto_box_seal_open(sealed, given, key)).toString() };
  } catch {
    return 'invalid';
  }
}

/**
 * Encrypts a text with a secret key (XSalsa20 and Poly1305).
 *
 * @param key Secret key of 32 bytes.
 * @returns The random number and the encrypted text, in base64.
 */
export async function encryptFor(key: Uint8Array, text: string): Promise<string> {
  await sodium.ready;
  const nonce = sodium.randombytes_buf(NONCE_BYTES);
  return Buffer.concat([nonce, sodium.crypto_secretbox_easy(text, nonce, key)]).toString('base64');
}
