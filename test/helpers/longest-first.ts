import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const ROOT = new URL('..', import.meta.url).pathname;

/**
 * The test files that measure the heap. They are first, because each measurement collects the garbage of the whole heap, which
 * takes ten times as long after other files.
 */
const OF_THE_HEAP = ['api/execution-plans', 'api/graphql-documents'];

/**
 * The test files that take longest. If one of them started last, one worker would still run after the others are done. Files
 * that mostly wait and files that mostly compute alternate, to keep the processors busy.
 */
const LONGEST = [
  ...OF_THE_HEAP,
  // On PostgreSQL only.
  ...['suites/faults', 'api/random-queries', 'server/organization-move', 'suites/own-rows', 'server/database-copy'],
  ...[
    'suites/bad-input',
    'messages/uploads-over-kills',
    'suites/entity-events',
    'clients/chats',
    'suites/mutation-errors',
  ],
  ...['server/pages-in-browser', 'server/database-versions', 'access/secret-key-change'],
  ...['api/hostile-requests', 'suites/replay', 'events/event-queue', 'clients/resume', 'suites/idempotency'],
  ...['server/html-pages', 'suites/totals', 'api/graphql-ws', 'server/registration-with-state', 'platform/mail'],
  ...['messages/message-flags', 'messages/search-writing-systems', 'api/socket-limits', 'platform/migrations'],
  ...['messages/fetching', 'messages/scheduled-messages', 'messages/message-retention', 'api/connection-limits'],
  ...['suites/fuzz', 'messages/topics', 'administration/deactivation', 'messages/message-edits', 'platform/names'],
  ...['messages/edit-recipients', 'suites/hidden-addresses', 'messages/topic-objects', 'suites/viewer-can'],
  ...['people/custom-emoji', 'administration/user-groups', 'api/rate-limits'],
  // In browsers.
  ...['web/slow-network', 'web/accessibility', 'web/sending', 'web/chat', 'web/messages', 'web/narrow', 'web/people'],
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
