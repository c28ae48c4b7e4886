/** Matches characters that would end or change a link between stars. */
const SPECIAL = /[`>*&[\]<]|\$\$/;

/** The fields of a channel that its links contain. */
interface LinkedChannel {
  readonly databaseId: number;
  readonly name: string;
}

/** Returns the text that links a channel: `#**name**`, or a link with an address if the name cannot stand between stars. */
export function channelLink({ databaseId, name }: LinkedChannel): string {
  if (!SPECIAL.test(name)) return `#**${name}**`;
  return `[#${withEntities(name)}](${channelAddress({ databaseId, name })})`;
}

/** Returns the text that links a topic: `#**channel>topic**`, or a link with an address, as `channelLink`. */
export function topicLink(channel: LinkedChannel, topic: string): string {
  if (!SPECIAL.test(channel.name) && !/[`*&[\]<]|\$\$|@\d+$/.test(topic)) return `#**${channel.name}>${topic}**`;
  const label = `#${withEntities(channel.name)} &gt; ${withEntities(topic)}`;
  return `[${label}](${channelAddress(channel)}/topic/${encodeFragment(topic)})`;
}

const channelAddress = ({ databaseId, name }: LinkedChannel): string =>
  `#narrow/channel/${databaseId}-${encodeFragment(name.replaceAll(' ', '-'))}`;

/** Replaces the markup characters of a label with entities. */
const withEntities = (text: string): string =>
  text.replace(/[`>*&[\]<$:~@#]/g, (character) => `&#${character.charCodeAt(0)};`);

/** Encodes a name for the fragment of an address in the same way as the service. */
const encodeFragment = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replace(/[.()%]/g, (found) => FRAGMENT[found] ?? found);

const FRAGMENT: Readonly<Record<string, string>> = { '.': '.2E', '(': '.28', ')': '.29', '%': '.' };
