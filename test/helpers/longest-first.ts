import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const ROOT = new URL('..', import.meta.url).pathname;

/**
 * The test files that take longest. If one of them started last, one worker would still run after the others are done. Files
 * that mostly wait and files that mostly compute alternate, to keep the processors busy.
 */
const LONGEST = [
  ...['api/hostile-requests', 'suites/replay', 'events/event-queue', 'messages/fetching', 'clients/resume'],
  ...['messages/topics', 'api/graphql-ws', 'suites/idempotency', 'platform/database-permits', 'server/html-pages'],
  ...['api/connection-limits', 'messages/edit-recipients', 'api/socket-limits', 'messages/scheduled-messages'],
  ...['platform/mail', 'messages/message-flags', 'api/schema', 'administration/deactivation', 'people/custom-emoji'],
  ...['api/persisted-documents', 'suites/hidden-addresses', 'platform/migrations', 'suites/fuzz'],
  ...['administration/user-groups'],
].map((name) => `${name}.test.ts`);

const rank = ({ moduleId }: TestSpecification): number => {
  const place = LONGEST.indexOf(relative(ROOT, moduleId));
  return place === -1 ? LONGEST.length : place;
};

/**
 * A sequencer that starts the slowest test files first, regardless of the durations that vitest has cached from previous runs.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
