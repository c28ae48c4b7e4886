import { describe, expect, test } from 'vitest';
import { faultsOf } from '../helpers/axe.ts';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { demoChat, message, newName, notSent, open, write } from '../helpers/web.ts';

/** Rate limit of the service, in requests per minute. The page alone sends fewer requests in these tests. */
const PER_MINUTE = 250;
const BUSY = 'The service is unavailable. Sending is retried automatically.';

describe.runIf(hasChromium)(
  `sending in the chat while the service is busy${CHROMIUM_NOTE}`,
  { timeout: 150_000 },
  () => {
    const chat = demoChat(undefined, { RATE_LIMIT_PER_USER: String(PER_MINUTE) });

    test('continues automatically, in order, when the rate limit permits it again', async () => {
      await using bela = await chat.enter('member');
      const { page, person } = bela;
      await open(page, 'website', 'launch');
      await page.getByRole('feed', { name: 'Messages in website, launch' }).waitFor();
      let asked = 0;
      while ((await person.rest('GET', '/users/me')).status !== 429) expect(asked++).toBeLessThan(PER_MINUTE);
      const texts = [newName('the first'), newName('the second'), newName('the third')];
      const regretted = newName('regretted');
      for (const text of [regretted, ...texts]) await write(page, text);
      await page.getByText(BUSY).first().waitFor();
      expect(await faultsOf(page)).toEqual([]);
      await notSent(page).filter({ hasText: regretted }).getByRole('button', { name: 'Discard' }).click();
      expect(await page.getByRole('button', { name: 'Retry' }).count()).toBe(0);
      // The rate limit counts the requests of one minute, so sending can take up to a minute.
      for (const text of texts) await message(page, text).waitFor({ timeout: 75_000 });
      await expect.poll(() => notSent(page).count()).toBe(0);
      const { messages } = await chat
        .person('owner')
        .ok('GET', '/messages', { anchor: 'newest', num_before: 5, num_after: 0, apply_markdown: false });
      const sent = messages.map(({ content }: { content: string }) => content);
      expect(sent.filter((content: string) => [regretted, ...texts].includes(content))).toEqual(texts);
    });

    test('retries with the same idempotency key after the requested delay, and sends the next message afterwards', async () => {
      await using iris = await chat.enter('owner');
      const { page } = iris;
      await open(page, 'website', 'launch');
      await page.getByRole('feed', { name: 'Messages in website, launch' }).waitFor();
      const [one, two] = [newName('one'), newName('two')];
      const tries: { content: string; key: string | undefined; at: number }[] = [];
      const busy = {
        message: 'Busy',
        path: ['sendMessage'],
        extensions: { code: 'REQUEST_TIMEOUT', retryAfterSeconds: 1 },
      };
      const full = { message: 'Full', extensions: { code: 'STORAGE_FULL', retryAfterSeconds: 2 } };
      // Responses that the service sends during a failover of the database, and while its disk is full.
      const answers = [
        { status: 200, json: { data: { sendMessage: null }, errors: [busy] } },
        { status: 507, json: { errors: [full] } },
      ];
      await page.route('**/graphql', async (route) => {
        const request = route.request();
        if (!request.postData()?.includes('mutation SendMessage(')) return route.fallback();
        const { content } = request.postDataJSON().variables.input;
        tries.push({ content, key: request.headers()['idempotency-key'], at: Date.now() });
        const answer = answers.shift();
        return answer === undefined ? route.fallback() : route.fulfill(answer);
      });
      for (const text of [one, two]) await write(page, text);
      await page.getByText(BUSY).first().waitFor();
      for (const text of [one, two]) await message(page, text).waitFor();
      expect(await page.getByRole('alert').count()).toBe(0);
      expect(tries.map(({ content }) => content)).toEqual([one, one, one, two]);
      const [first, second, third, other] = tries;
      expect(new Set([first, second, third].map((each) => each?.key)).size).toBe(1);
      expect(other?.key).not.toBe(first?.key);
      expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(1_000);
      expect((third?.at ?? 0) - (second?.at ?? 0)).toBeGreaterThanOrEqual(2_000);
    });
  },
);
