import { expect, test } from 'vitest';
import { sendPaths, tableOf } from '../bench/send-path.ts';

/** Largest number of functions, and of files, that a message may execute before its row is written. */
const LIMITS = { plain: [240, 67], formatted: [293, 79] } as const;

test('a message executes few functions before its row is written', async () => {
  for (const [kind, executed] of Object.entries(await sendPaths())) {
    const files = new Set(executed.map(({ file }) => file));
    const [functions, most] = LIMITS[kind as keyof typeof LIMITS];
    expect(executed.length, tableOf(executed)).toBeLessThanOrEqual(functions);
    expect(files.size, tableOf(executed)).toBeLessThanOrEqual(most);
    // Functions of the whole way are recorded.
    for (const file of ['server/http.ts', 'messages/sending/write.ts', 'platform/db/embedded.ts']) {
      expect(files).toContain(file);
    }
  }
});
