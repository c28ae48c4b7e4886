import type { Client } from 'urql';
import { TypingTimesDocument, type TypingTimesQuery } from '../generated/graphql.ts';

type Times = TypingTimesQuery['serverSettings']['typingTimes'];

/**
 * Returns the intervals at which typing notifications are sent, and the time after which received notifications expire, all in
 * seconds. The result is cached after the first request. Undefined if the request fails.
 */
export async function typingTimes(client: Client): Promise<Times | undefined> {
  const { data } = await client.query(TypingTimesDocument, {}).toPromise();
  return data?.serverSettings.typingTimes;
}
