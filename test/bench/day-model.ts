import { type Random, seeded } from '../faults/random.ts';

/** An assumption about a working day. All rates and sizes of the simulation follow from the assumptions. */
interface Assumption {
  readonly value: number;
  readonly unit: string;
  readonly what: string;
  readonly reason: string;
}

const PROSPECTUS = 'Slack Technologies, Form S-1, 2019';

/** The assumptions. "A day" means of one person on one working day. */
const ASSUMPTIONS = {
  online: {
    ...{ value: 0.8, unit: 'of all people', what: 'online at once in the busiest hour' },
    reason: `connected for 9 h of a workday (${PROSPECTUS}); a fifth is absent or begins later`,
  },
  busiestHour: {
    ...{ value: 0.15, unit: 'of a day', what: 'actions of the busiest hour' },
    reason: 'nine even hours would have 0.11 each; two peaks, a break at noon',
  },
  signInMinutes: {
    ...{ value: 90, unit: 'min', what: 'time in which all people sign in in the morning' },
    reason: 'people begin between 8:00 and 9:30',
  },
  passwords: {
    ...{ value: 0.05, unit: 'of sign-ins', what: 'with a password; others continue a session or have a key' },
    reason: 'sessions end after 90 days; new browsers, and people who sign out',
  },
  pages: {
    ...{ value: 0.6, unit: 'of people', what: 'with the chat page: GraphQL, WebSocket' },
    reason: 'the page is the default client; its own documents are sent',
  },
  polls: {
    ...{ value: 0.3, unit: 'of people', what: 'with a desktop client: REST, long polls' },
    reason: 'published clients of the REST interface',
  },
  streams: {
    ...{ value: 0.1, unit: 'of people', what: 'with a client of server-sent events: GraphQL' },
    reason: 'networks without WebSockets, own clients',
  },
  phones: {
    ...{ value: 0.4, unit: 'of people', what: 'also with a phone: REST, long polls' },
    reason: 'less than half use their phone at work',
  },
  phoneVisits: {
    ...{ value: 15, unit: 'a day', what: 'opens the app on the phone: resumes the queue, reads' },
    reason: 'about every 36 minutes of 9 h',
  },
  phoneSeconds: {
    ...{ value: 60, unit: 's', what: 'time for which the app on the phone stays open' },
    reason: 'a look at new messages',
  },
  messages: {
    ...{ value: 20, unit: 'a day', what: 'sends messages' },
    reason: `10 million daily users, a billion messages a week (${PROSPECTUS})`,
  },
  direct: {
    ...{ value: 0.45, unit: 'of messages', what: 'to one person' },
    reason: 'half of the messages are direct; no public figure',
  },
  group: {
    ...{ value: 0.05, unit: 'of messages', what: 'to a group of three to five' },
    reason: 'see above',
  },
  announcements: {
    ...{ value: 30, unit: 'a day in all', what: 'messages to all people' },
    reason: 'few can write there, whatever the size',
  },
  typing: {
    ...{ value: 2, unit: 'per message', what: 'typing notifications: start and stop' },
    reason: 'the page sends both',
  },
  reads: {
    ...{ value: 60, unit: 'a day', what: 'opens a topic or conversation: up to 100 messages, marks read' },
    reason: `90 min in use (${PROSPECTUS}), one every 90 s`,
  },
  searches: { value: 3, unit: 'a day', what: 'searches all messages', reason: 'no public figure' },
  reactions: { value: 4, unit: 'a day', what: 'adds a reaction', reason: 'one to five messages' },
  edits: { value: 1, unit: 'a day', what: 'edits a message', reason: 'one of twenty messages' },
  reconnects: {
    ...{ value: 3, unit: 'a day', what: 'the desktop client reconnects' },
    reason: 'sleep, change of the network',
  },
  presence: {
    ...{ value: 60, unit: 's', what: 'interval of presence reports, each with a read of the changes of others' },
    reason: 'the interval that the interface prescribes',
  },
  teamSize: { value: 8, unit: 'people', what: 'in a team, which has a channel', reason: 'usual' },
  departmentSize: { value: 150, unit: 'people', what: 'in a department, which has a channel', reason: 'usual' },
  projects: {
    ...{ value: 10, unit: 'per person', what: 'subscriptions to other channels, of which there is one per 4 people' },
    reason: 'Zipf distribution: few large channels, many small ones',
  },
  workdays: { value: 250, unit: 'a year', what: 'working days', reason: 'usual' },
} as const satisfies Record<string, Assumption>;

/** Returns the value of an assumption. */
export const assumed = (name: keyof typeof ASSUMPTIONS): number => ASSUMPTIONS[name].value;

/** Returns the table of all assumptions, as rows of cells. */
export const assumptionRows = (): string[][] =>
  Object.values(ASSUMPTIONS).map(({ value, unit, what, reason }: Assumption) => [what, `${value} ${unit}`, reason]);

/** Kinds of actions of people at work, in the order in which they are reported. */
export const ACTIONS = [
  ...['send to a channel', 'send to a person', 'send to a group', 'announce', 'typing', 'read', 'search'],
  ...['react', 'edit', 'presence', 'reconnect', 'phone'],
] as const;
export type Action = (typeof ACTIONS)[number];

/**
 * Returns the number of actions per second of the day in the busiest hour.
 *
 * @param people All people of the organization, not only those who are online.
 */
export function ratesOf(people: number): Readonly<Record<Action, number>> {
  const perSecond = assumed('busiestHour') / 3600;
  const daily = (name: 'reads' | 'searches' | 'reactions' | 'edits' | 'reconnects') =>
    people * assumed(name) * perSecond;
  const messages = people * assumed('messages') * perSecond;
  const announce = assumed('announcements') * perSecond;
  const [direct, group] = [assumed('direct'), assumed('group')];
  return {
    'send to a channel': messages * (1 - direct - group) - announce,
    'send to a person': messages * direct,
    'send to a group': messages * group,
    announce,
    typing: messages * assumed('typing'),
    read: daily('reads'),
    search: daily('searches'),
    react: daily('reactions'),
    edit: daily('edits'),
    presence: (people * assumed('online')) / assumed('presence'),
    reconnect: daily('reconnects'),
    phone: people * assumed('phones') * assumed('phoneVisits') * perSecond,
  };
}

/** Returns the number of sign-ins per second of the day in the morning. */
export const signInRate = (people: number): number => (people * assumed('online')) / (60 * assumed('signInMinutes'));

/** A channel of the plan, with its members as indexes of people. */
export interface PlannedChannel {
  readonly kind: 'all' | 'department' | 'team' | 'project';
  readonly members: number[];
}

/** A person of the plan. Channels and other people are indexes. */
export interface PlannedPerson {
  /** Channels to which the person writes, most likely first, with the share of the person's channel messages for each. */
  readonly channels: readonly { readonly channel: number; readonly share: number }[];
  /** People to whom the person writes directly, most likely first. */
  readonly mates: readonly number[];
}

/** Channels and acquaintances of all people. The first channel is that of all people. */
export interface Plan {
  readonly channels: readonly PlannedChannel[];
  readonly people: readonly PlannedPerson[];
}

/** Shares of a person's channel messages: to the team, to the department; the rest goes to other channels. */
const [TO_TEAM, TO_DEPARTMENT] = [0.4, 0.1];
/** Number of people outside of the team to whom a person writes directly. */
const OTHER_MATES = 3;

/** Makes the channels and acquaintances of an organization of `count` people. */
export function planOrganization(count: number, seed: number): Plan {
  const random = seeded(seed);
  const all = Array.from({ length: count }, (_, i) => i);
  const groups = (kind: PlannedChannel['kind'], size: number): PlannedChannel[] =>
    Array.from({ length: Math.ceil(count / size) }, (_, i) => ({ kind, members: all.slice(i * size, (i + 1) * size) }));
  const departments = groups('department', assumed('departmentSize'));
  const teams = groups('team', assumed('teamSize'));
  const projects = Array.from(
    { length: Math.ceil(count / 4) },
    (): PlannedChannel => ({ kind: 'project', members: [] }),
  );
  const pickProject = zipfPicker(projects.length, { exponent: 0.8, shift: 10 });
  const chosen = all.map((person) => {
    const own = new Set<number>();
    while (own.size < Math.min(assumed('projects'), projects.length)) own.add(pickProject(random));
    for (const project of own) projects[project]?.members.push(person);
    return [...own];
  });
  const channels = [{ kind: 'all', members: all } as const, ...departments, ...teams, ...projects];
  const [firstTeam, firstProject] = [1 + departments.length, 1 + departments.length + teams.length];
  const people = all.map((person): PlannedPerson => {
    const own = (chosen[person] ?? []).map((project, i) => ({
      channel: firstProject + project,
      // People write less often in large channels.
      weight: 1 / ((i + 1) * Math.sqrt(projects[project]?.members.length ?? 1)),
    }));
    const sum = own.reduce((total, { weight }) => total + weight, 0);
    const toProjects = 1 - TO_TEAM - TO_DEPARTMENT;
    const team = Math.floor(person / assumed('teamSize'));
    const others = Array.from({ length: OTHER_MATES }, () => Math.floor(random() * count));
    return {
      channels: [
        { channel: firstTeam + team, share: TO_TEAM },
        { channel: 1 + Math.floor(person / assumed('departmentSize')), share: TO_DEPARTMENT },
        ...own.map(({ channel, weight }) => ({ channel, share: (toProjects * weight) / sum })),
      ],
      mates: [...(teams[team]?.members ?? []), ...others].filter((mate) => mate !== person),
    };
  });
  return { channels, people };
}

/** Returns a function that draws an index below `count`: the probability of index i is proportional to 1 / (i + shift)^exponent. */
export function zipfPicker(count: number, { exponent = 1, shift = 1 } = {}): (random: Random) => number {
  const sums = new Float64Array(count);
  for (let i = 0, sum = 0; i < count; i++) sums[i] = sum += (i + shift) ** -exponent;
  return (random) => {
    const wanted = random() * (sums[count - 1] ?? 0);
    let [low, high] = [0, count - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] ?? 0) < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

/** Draws the channel of a person's next message. */
export function pickChannel({ channels }: PlannedPerson, random: Random): number {
  let left = random();
  for (const { channel, share } of channels) {
    left -= share;
    if (left <= 0) return channel;
  }
  return channels[0]?.channel ?? 0;
}

/** Describes the distribution of channel messages over channels, on an average day. */
export function describePlan({ channels, people }: Plan): Record<string, string> {
  const perDay = new Float64Array(channels.length);
  const each = assumed('messages') * (1 - assumed('direct') - assumed('group'));
  for (const person of people) {
    for (const { channel, share } of person.channels) perDay[channel] = (perDay[channel] ?? 0) + each * share;
  }
  perDay[0] = assumed('announcements');
  const sorted = [...perDay].sort((a, b) => b - a);
  const sum = sorted.reduce((total, messages) => total + messages, 0);
  const busy = sorted.slice(0, Math.ceil(channels.length / 10)).reduce((total, messages) => total + messages, 0);
  const sizes = channels.slice(1).map(({ members }) => members.length);
  const received = channels.reduce((total, { members }, i) => total + members.length * (perDay[i] ?? 0), 0);
  return {
    channels: `${channels.length}, the largest but that of all people with ${Math.max(...sizes)} subscribers`,
    'channel messages a day': `${Math.round(sum)}; the busiest channel ${Math.round(sorted[0] ?? 0)}, the median ${(sorted[Math.floor(sorted.length / 2)] ?? 0).toFixed(0)}; the busiest tenth has ${Math.round((100 * busy) / sum)} %`,
    'recipients of a channel message': (received / sum).toFixed(0),
  };
}

const VOCABULARY = 3_000;
const SYLLABLES = ['ba', 'ko', 'ri', 'te', 'su', 'ma', 'lo', 'ne', 'pi', 'du', 'ga', 'fe', 'zo', 'hi', 'vu', 'ta'];
const pickWord = zipfPicker(VOCABULARY, { exponent: 0.9, shift: 3 });

/** Returns a word of the vocabulary in which messages are written. The first words are the most frequent. */
export function wordAt(index: number): string {
  const parts = [index & 15, (index >> 4) & 15, (index >> 8) & 15];
  return parts.map((part) => SYLLABLES[part]).join('');
}

/** Draws a text as people write them: the median has 10 words, some have a hundred. */
export function drawText(random: Random): string {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const length = Math.max(1, Math.min(150, Math.round(Math.exp(2.3 + 0.8 * normal))));
  return Array.from({ length }, () => wordAt(pickWord(random))).join(' ');
}

/** Draws a word for a search, which is neither among the most frequent nor unknown. */
export const drawSearch = (random: Random): string => wordAt(50 + Math.floor(random() * (VOCABULARY - 50)));

const pickTopic = zipfPicker(10);

/** Draws the topic of a message. Few topics of a channel have most of its messages. */
export const drawTopic = (random: Random): string => `topic ${1 + pickTopic(random)}`;
