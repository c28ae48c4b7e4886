/** Matches characters that would end or change a link of the form `#**name**`. */
const SPECIAL = /[`>*&[\]<]|\$\$/;

/** The fields of a channel that its links contain. */
interface LinkedChannel {
  readonly databaseId: number;
  readonly name: string;
}

/** Returns the text that links a channel: `#**name**`, or a Markdown link with a URL if the name matches `SPECIAL`. */
export function channelLink({ databaseId, name }: LinkedChannel): string {
  if (!SPECIAL.test(name)) return `#**${name}**`;
  return `[#${withEntities(name)}](${channelAddress({ databaseId, name })})`;
}

/** Returns the text that links a topic: `#**channel>topic**`, or a Markdown link if a name has special characters. */
export function topicLink(channel: LinkedChannel, topic: string): string {
  if (!SPECIAL.test(channel.name) && !/[`*&[\]<]|\$\$|@\d+$/.test(topic)) return `#**${channel.name}>${topic}**`;
  const label = `#${withEntities(channel.name)} &gt; ${withEntities(topic)}`;
  return `[${label}](${channelAddress(channel)}/topic/${encodeFragment(topic)})`;
}

const channelAddress = ({ databaseId, name }: LinkedChannel): string =>
  `#narrow/channel/${databaseId}-${encodeFragment(name.replaceAll(' ', '-'))}`;

/** Replaces the markup characters of a label with HTML entities. */
const withEntities = (text: string): string =>
  text.replace(/[`>*&[\]<$:~@#]/g, (character) => `&#${character.charCodeAt(0)};`);

/** Encodes a name for the fragment of a URL, exactly as the service does. */
const encodeFragment = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replace(/[.()%]/g, (found) => FRAGMENT[found] ?? found);

const FRAGMENT: Readonly<Record<string, string>> = { '.': '.2E', '(': '.28', ')': '.29', '%': '.' };
