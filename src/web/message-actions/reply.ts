import type { Client } from 'urql';
import { OwnDocument } from '../generated/graphql.ts';
import { composerField, focusComposer, focusComposerSoon } from '../keyboard/focus.ts';
import { currentRoute, navigate } from '../routing/router.tsx';
import { insert } from '../ui/write.ts';
import { type Acted, readActed } from './acted.ts';
import { placeAddress, type Standing } from './place-address.ts';

export const viewerIdIn = (client: Client): string => client.readQuery(OwnDocument, {})?.data?.viewer?.id ?? '';

/**
 * Focuses the composer of the message's topic or conversation, and opens that view first if needed.
 *
 * @param onFocus Called once the composer has the focus.
 */
export function reply(client: Client, message: Standing, onFocus?: () => void): void {
  const route = currentRoute();
  const isThere = route.name === 'direct' || (route.name === 'channel' && route.topic !== undefined);
  if (isThere) {
    focusComposer();
    onFocus?.();
  } else {
    navigate(placeAddress(message, viewerIdIn(client)));
    focusComposerSoon(onFocus);
  }
}

/** Writes a quote of a message into the composer of its topic or conversation, below text that is there already. */
export async function quoteAndReply(client: Client, messageId: string): Promise<void> {
  const message = await readActed(client, messageId);
  if (message === null) return;
  reply(client, message, () => {
    const field = composerField();
    if (field === null) return;
    const { value } = field;
    field.setSelectionRange(value.length, value.length);
    insert(field, `${value === '' || value.endsWith('\n') ? '' : '\n'}${quoteOf(message)}\n`);
  });
}

/** Returns a message as a quote in Markdown, with its sender, who is not notified, and a link to it. */
export function quoteOf({ content, url, sender }: Pick<Acted, 'content' | 'url' | 'sender'>): string {
  const fences = content.match(/^`{3,}/gm) ?? [];
  const fence = '`'.repeat(Math.max(3, ...fences.map(({ length }) => length + 1)));
  return `@_**${sender.fullName}|${sender.databaseId}** [said](${url}):\n${fence}quote\n${content}\n${fence}`;
}
