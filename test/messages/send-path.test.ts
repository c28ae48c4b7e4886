import { expect, test } from 'vitest';
import { sendPaths, tableOf } from '../bench/send-path.ts';

/** Maximum numbers of functions and of files of `src` that may be executed for a message before its row is written. */
const LIMITS = { plain: [181, 49], formatted: [248, 69] } as const;

test('a message executes few functions before its row is written', async () => {
  for (const [kind, executed] of Object.entries(await sendPaths())) {
    const files = new Set(executed.map(({ file }) => file));
    const [functions, most] = LIMITS[kind as keyof typeof LIMITS];
    expect(executed.length, tableOf(executed)).toBeLessThanOrEqual(functions);
    expect(files.size, tableOf(executed)).toBeLessThanOrEqual(most);
    // Checks that functions are recorded from the arrival of the request to the write of the row.
    for (const file of ['server/http.ts', 'messages/sending/write.ts', 'platform/db/embedded.ts']) {
      expect(files).toContain(file);
    }
  }
});
