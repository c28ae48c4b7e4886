import { randomUUID } from 'node:crypto';
import type { Tx } from '../db/client.ts';
import type { PreparedImage } from './prepare.ts';

/**
 * Stores an image in the database, where every node can read it.
 *
 * @returns A random id that cannot be guessed.
 */
export async function storeImage(tx: Tx, organizationId: number, image: PreparedImage): Promise<string> {
  const { id } = await tx.image.create({ data: { id: randomUUID(), organizationId, ...image }, select: { id: true } });
  return id;
}

/** Deletes an image that is no longer referenced. */
export async function deleteImage(tx: Tx, organizationId: number, id: string): Promise<void> {
  await tx.image.deleteMany({ where: { organizationId, id } });
}
