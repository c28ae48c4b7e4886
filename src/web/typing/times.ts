import type { Client } from 'urql';
import { TypingTimesDocument, type TypingTimesQuery } from '../generated/graphql.ts';

type Times = TypingTimesQuery['serverSettings']['typingTimes'];

/** When the service wants to hear that somebody writes; what others are told by goes by the same. Asked for once. */
export async function typingTimes(client: Client): Promise<Times | undefined> {
  const { data } = await client.query(TypingTimesDocument, {}).toPromise();
  return data?.serverSettings.typingTimes;
}
