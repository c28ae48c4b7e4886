import type { SqlClient } from '../../platform/db/client.ts';

/** Returns the total length of a user's drafts, in code points. */
export async function draftsLength(db: SqlClient, organizationId: number, authorId: number): Promise<number> {
  const [held] = await db.$queryRaw<{ length: number | null }[]>`
    SELECT sum(char_length(content))::int AS length FROM draft
    WHERE realm_id = ${organizationId} AND author_id = ${authorId}`;
  return held?.length ?? 0;
}
