import type { Client } from 'urql';
import { emojiNamed, emojiTable, loadEmoji } from '../emoji/emoji-table.ts';
import { SidebarDocument, SuggestionsDocument, type SuggestionsQuery } from '../generated/graphql.ts';
import type { IconName } from '../ui/icons.tsx';
import type { Token } from './token.ts';

/** Something that may be meant. */
export interface Option {
  readonly key: string;
  readonly label: string;
  readonly detail?: string;
  /** What is written in the place of the token. */
  readonly insert: string;
  /** How it looks: a character, an image's address, or an icon. */
  readonly glyph?: string;
  readonly imageUrl?: string;
  readonly icon?: IconName;
}

const LIMIT = 8;

/** @returns What may be meant by a token, the likeliest first. Nothing where the service does not answer. */
export async function optionsFor(
  client: Client,
  token: Token,
  place: { readonly isChannel: boolean },
): Promise<readonly Option[]> {
  switch (token.kind) {
    case 'emoji':
      await loadEmoji(client);
      return emojiNamed(emojiTable.get(), token.text, LIMIT).map(({ name, emoji: { glyph, imageUrl } }) => ({
        key: name,
        label: `:${name}:`,
        insert: `:${name}: `,
        ...(glyph !== undefined && { glyph }),
        ...(imageUrl !== undefined && { imageUrl }),
      }));
    case 'person': {
      const found = await suggest(client, token.text, ['USER', 'USER_GROUP']);
      return [...peopleAndGroups(found, token.isSilent === true), ...(place.isChannel ? wildcards(token) : [])];
    }
    case 'channel':
      return (await suggest(client, token.text, ['CHANNEL'])).flatMap((one) =>
        one.__typename === 'Channel'
          ? [
              {
                key: one.id,
                label: one.name,
                icon: one.isPrivate ? 'lock' : 'hash',
                insert: `#**${one.name}** `,
              } as const,
            ]
          : [],
      );
    case 'topic': {
      const channelId = channelNamed(client, token.channelName ?? '');
      if (channelId === undefined) return [];
      const topics = await suggestTopics(client, channelId, token.text);
      return topics.map((name) => ({
        key: name,
        label: name,
        detail: `in #${token.channelName}`,
        insert: `#**${token.channelName}>${name}** `,
      }));
    }
  }
}

/** The names of a channel's topics that begin so, or in which a later word does. */
export async function suggestTopics(client: Client, channelId: string, text: string): Promise<readonly string[]> {
  const found = await suggest(client, text, ['TOPIC'], channelId);
  return found.flatMap((one) => (one.__typename === 'Topic' && one.name !== '' ? [one.name] : []));
}

type Suggested = NonNullable<SuggestionsQuery['suggestions']>;

async function suggest(
  client: Client,
  text: string,
  kinds: readonly ('USER' | 'USER_GROUP' | 'CHANNEL' | 'TOPIC')[],
  channelId?: string,
): Promise<Suggested> {
  const variables = { text: text.trim(), kinds: [...kinds], ...(channelId !== undefined && { channelId }) };
  const { data } = await client.query(SuggestionsDocument, variables, { requestPolicy: 'network-only' }).toPromise();
  return data?.suggestions ?? [];
}

function peopleAndGroups(found: Suggested, isSilent: boolean): Option[] {
  const sign = isSilent ? '@_' : '@';
  const names = found.flatMap((one) => (one.__typename === 'User' ? [one.fullName] : []));
  return found.flatMap((one): Option[] => {
    if (one.__typename === 'User') {
      // Of several with a name, the number says who is meant.
      const isOneOfSeveral = names.filter((name) => name === one.fullName).length > 1;
      const name = isOneOfSeveral ? `${one.fullName}|${one.databaseId}` : one.fullName;
      const detail = one.isBot ? 'bot' : isOneOfSeveral ? `no. ${one.databaseId}` : undefined;
      const shown = { key: one.id, label: one.fullName, imageUrl: one.avatarUrl, insert: `${sign}**${name}** ` };
      return [{ ...shown, ...(detail !== undefined && { detail }) }];
    }
    if (one.__typename !== 'UserGroup' || !one.viewerCanMention) return [];
    return [{ key: one.id, label: one.name, detail: one.description, icon: 'at', insert: `${sign}*${one.name}* ` }];
  });
}

const WILDCARDS = [
  ['all', 'everybody in the channel'],
  ['topic', 'everybody who takes part in the topic'],
] as const;

const wildcards = ({ text, isSilent }: Token): Option[] =>
  WILDCARDS.filter(([name]) => isSilent !== true && text !== '' && name.startsWith(text.toLowerCase())).map(
    ([name, detail]) => ({ key: name, label: name, detail, icon: 'at', insert: `@**${name}** ` }),
  );

/** Those the viewer is subscribed to are there from the first screen on. */
function channelNamed(client: Client, name: string): string | undefined {
  const channels = client.readQuery(SidebarDocument, {})?.data?.subscriptions?.nodes ?? [];
  return channels.find(({ channel }) => channel.name.toLowerCase() === name.toLowerCase())?.channel.id;
}
