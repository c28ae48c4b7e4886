import type { OrganizationSettingsFragment, UpdateOrganizationInput } from '../generated/graphql.ts';
import { LANGUAGES } from '../ui/options.ts';

// The settings of the organization and their permissions, with the texts of the page. `test/administration/settings-page.test.ts`
// compares defaults, owners' settings and allowed groups with the rules of the service.

type Settings = Omit<OrganizationSettingsFragment, 'id' | '__typename'>;
type NameOf<T> = {
  [K in keyof Settings & keyof UpdateOrganizationInput]: Settings[K] extends T ? K : never;
}[keyof Settings & keyof UpdateOrganizationInput];

export interface Described {
  readonly label: string;
  /** One sentence about the effect. */
  readonly explanation: string;
  /** Whether only owners can change it. */
  readonly isOfOwners?: true;
}

interface FlagSetting extends Described {
  readonly kind: 'flag';
  readonly name: NameOf<boolean>;
  readonly initial: boolean;
}

interface ChoiceSetting extends Described {
  readonly kind: 'choice';
  readonly name: Exclude<NameOf<string>, TextSetting['name']>;
  readonly initial: string;
  readonly options: readonly (readonly [value: string, name: string])[];
}

interface TextSetting extends Described {
  readonly kind: 'text';
  readonly name: 'name' | 'description' | 'welcomeMessageCustomText' | 'defaultCodeBlockLanguage';
  /** Maximum length in Unicode code points. */
  readonly limit: number;
  readonly isLong?: true;
  readonly isRequired?: true;
  /** Absent for a value that each organization chooses itself. */
  readonly initial?: string;
}

export interface NumberSetting extends Described {
  readonly kind: 'number';
  readonly name: NameOf<number | null>;
  readonly initial: number | null;
  /** Unit of the value. */
  readonly unit: 'second' | 'day';
  /** Values that are offered besides the current one. */
  readonly offered: readonly number[];
  /** Lowest value, apart from special values. */
  readonly least: number;
  /** The value without a limit, and its name. Absent if there always is a limit. */
  readonly unlimited?: readonly [value: null | -1, name: string];
}

interface ChannelSetting extends Described {
  readonly kind: 'channel';
  readonly name: 'moderationRequestChannel' | 'newChannelAnnouncementsChannel' | 'signupAnnouncementsChannel';
  readonly initial: null;
  /** Whether only private channels are accepted. */
  readonly isPrivate?: true;
}

export interface IconSetting extends Described {
  readonly kind: 'icon';
  readonly name: 'icon';
}

/** A setting whose value has a control. */
export type ValueSetting = FlagSetting | ChoiceSetting | TextSetting | NumberSetting | ChannelSetting;

export type OrganizationSetting = IconSetting | ValueSetting;

export interface Group<T> {
  readonly title: string;
  readonly settings: readonly T[];
}

const [MINUTE, HOUR, DAY] = [60, 3_600, 86_400];

export const SETTING_GROUPS: readonly Group<OrganizationSetting>[] = [
  {
    title: 'Organization profile',
    settings: [
      {
        kind: 'text',
        name: 'name',
        limit: 40,
        isRequired: true,
        label: 'Name',
        explanation: 'Shown in the sidebar, in emails and on the sign-in page.',
      },
      {
        kind: 'icon',
        name: 'icon',
        label: 'Icon',
        explanation: 'Shown on the sign-in page. A square PNG, JPEG, WebP or GIF, 5 MiB at most.',
      },
      {
        kind: 'text',
        name: 'description',
        limit: 1000,
        isLong: true,
        label: 'Description',
        explanation: 'Shown on the sign-in page. Supports Markdown.',
      },
      {
        kind: 'choice',
        name: 'organizationType',
        initial: 'UNSPECIFIED',
        label: 'Type',
        explanation: 'For information only: it changes nothing else.',
        options: [
          ['UNSPECIFIED', 'Not specified'],
          ['BUSINESS', 'Business'],
          ['OPEN_SOURCE', 'Open-source project'],
          ['EDUCATION_NONPROFIT', 'Education (nonprofit)'],
          ['EDUCATION', 'Education'],
          ['RESEARCH', 'Research'],
          ['EVENT', 'Event'],
          ['NONPROFIT', 'Nonprofit'],
          ['GOVERNMENT', 'Government'],
          ['POLITICAL_GROUP', 'Political group'],
          ['COMMUNITY', 'Community'],
          ['PERSONAL', 'Personal'],
          ['OTHER', 'Other'],
        ],
      },
      {
        kind: 'choice',
        name: 'defaultLanguage',
        initial: 'en',
        label: 'Language',
        explanation: 'Language of automatic messages, and the default for new users.',
        options: LANGUAGES,
      },
    ],
  },
  {
    title: 'Joining',
    settings: [
      {
        kind: 'flag',
        name: 'inviteRequired',
        initial: true,
        isOfOwners: true,
        label: 'Require an invitation to join',
        explanation: 'If off, anyone with an allowed email address can create an account.',
      },
      {
        kind: 'flag',
        name: 'emailsRestrictedToDomains',
        initial: false,
        isOfOwners: true,
        label: 'Restrict email addresses to the allowed domains',
        explanation: 'The “Domains” section lists them. Add at least one: without domains, all addresses are refused.',
      },
      {
        kind: 'flag',
        name: 'disallowDisposableEmailAddresses',
        initial: true,
        isOfOwners: true,
        label: 'Refuse disposable email addresses',
        explanation: 'Refuses addresses from services that provide temporary mailboxes.',
      },
      {
        kind: 'number',
        name: 'waitingPeriodThreshold',
        initial: 0,
        isOfOwners: true,
        unit: 'day',
        offered: [0, 3, 7, 30],
        least: 0,
        label: 'Waiting period before members become full members',
        explanation: 'You can limit permissions to full members.',
      },
      {
        kind: 'text',
        name: 'welcomeMessageCustomText',
        limit: 8000,
        isLong: true,
        initial: '',
        label: 'Welcome message',
        explanation: 'Sent as a direct message to each new user. Supports Markdown.',
      },
      {
        kind: 'flag',
        name: 'sendWelcomeEmails',
        initial: true,
        label: 'Send welcome emails',
        explanation: 'New users get an email with the web address of the organization.',
      },
      {
        kind: 'channel',
        name: 'signupAnnouncementsChannel',
        initial: null,
        label: 'Announce new users in',
        explanation: 'The notification bot posts a message in this channel when someone joins.',
      },
    ],
  },
  {
    title: 'User profiles',
    settings: [
      {
        kind: 'flag',
        name: 'nameChangesDisabled',
        initial: false,
        label: 'Only administrators can change names',
        explanation: 'Prevents users from changing their own names.',
      },
      {
        kind: 'flag',
        name: 'requireUniqueNames',
        initial: false,
        label: 'Require unique names',
        explanation: 'Applies to new users and to name changes.',
      },
      {
        kind: 'flag',
        name: 'emailChangesDisabled',
        initial: false,
        label: 'Only administrators can change email addresses',
        explanation: 'Prevents users from changing their own email addresses.',
      },
      {
        kind: 'flag',
        name: 'avatarChangesDisabled',
        initial: false,
        label: 'Only administrators can change profile images',
        explanation: 'Prevents users from changing their own images.',
      },
      {
        kind: 'choice',
        name: 'defaultAvatarSource',
        initial: 'GENERATED',
        label: 'Default profile image',
        explanation: 'Shown for users who have not uploaded an image.',
        options: [
          ['GENERATED', 'Generated pattern'],
          ['HOSTED', 'Image from an avatar provider, by email address'],
        ],
      },
      {
        kind: 'flag',
        name: 'presenceDisabled',
        initial: false,
        label: 'Hide presence',
        explanation: 'If on, users cannot see whether others are online.',
      },
      {
        kind: 'flag',
        name: 'enableGuestUserIndicator',
        initial: true,
        label: 'Mark guests',
        explanation: 'Adds “(guest)” to the names of guests in clients that support it.',
      },
      {
        kind: 'flag',
        name: 'enableGuestUserDirectMessageWarning',
        initial: true,
        label: 'Warn before sending direct messages to guests',
        explanation: 'Shows a warning before the first message in clients that support it.',
      },
    ],
  },
  {
    title: 'Messages',
    settings: [
      {
        kind: 'flag',
        name: 'allowMessageEditing',
        initial: true,
        label: 'Allow users to edit their messages',
        explanation: 'Applies to the text. Moving messages is controlled by permissions.',
      },
      {
        kind: 'number',
        name: 'messageContentEditLimitSeconds',
        initial: 600,
        unit: 'second',
        offered: [2 * MINUTE, 10 * MINUTE, HOUR, DAY, 7 * DAY],
        least: 1,
        unlimited: [null, 'Any time'],
        label: 'Time limit for edits',
        explanation: 'Senders can edit a message for this long after sending it.',
      },
      {
        kind: 'number',
        name: 'messageContentDeleteLimitSeconds',
        initial: 600,
        unit: 'second',
        offered: [2 * MINUTE, 10 * MINUTE, HOUR, DAY, 7 * DAY],
        least: 1,
        unlimited: [null, 'Any time'],
        label: 'Time limit for deletions',
        explanation: 'Senders can delete a message for this long after sending it.',
      },
      {
        kind: 'number',
        name: 'moveMessagesWithinChannelLimitSeconds',
        initial: 604_800,
        unit: 'second',
        offered: [HOUR, DAY, 7 * DAY, 30 * DAY],
        least: 1,
        unlimited: [null, 'Any time'],
        label: 'Time limit for moves to another topic',
        explanation: 'Messages can be moved to another topic for this long after they are sent.',
      },
      {
        kind: 'number',
        name: 'moveMessagesBetweenChannelsLimitSeconds',
        initial: 604_800,
        unit: 'second',
        offered: [HOUR, DAY, 7 * DAY, 30 * DAY],
        least: 1,
        unlimited: [null, 'Any time'],
        label: 'Time limit for moves to another channel',
        explanation: 'Messages can be moved to another channel for this long after they are sent.',
      },
      {
        kind: 'choice',
        name: 'messageEditHistoryVisibilityPolicy',
        initial: 'ALL',
        label: 'Edit history',
        explanation: 'Changes that users can see in the edit history of a message.',
        options: [
          ['ALL', 'Edits and moves'],
          ['MOVES', 'Moves only'],
          ['NONE', 'Nothing'],
        ],
      },
      {
        kind: 'flag',
        name: 'enableReadReceipts',
        initial: false,
        label: 'Read receipts',
        explanation: 'Users can see who has read a message. Readers can turn this off for themselves.',
      },
      {
        kind: 'number',
        name: 'messageRetentionDays',
        initial: -1,
        isOfOwners: true,
        unit: 'day',
        offered: [30, 90, 365, 730],
        least: 1,
        unlimited: [-1, 'Forever'],
        label: 'Keep messages for',
        explanation: 'Older messages are deleted. Channels can have their own setting.',
      },
      {
        kind: 'channel',
        name: 'moderationRequestChannel',
        initial: null,
        isPrivate: true,
        label: 'Channel for reported messages',
        explanation: 'Private channel in which reports from users are posted for moderators.',
      },
      {
        kind: 'flag',
        name: 'messageContentAllowedInEmailNotifications',
        initial: true,
        label: 'Include message text in emails',
        explanation:
          'Applies to emails about missed messages and digests. If off, they give only the number of messages.',
      },
      {
        kind: 'flag',
        name: 'digestEmailsEnabled',
        initial: false,
        label: 'Send weekly digests',
        explanation: 'Users who have not been active for five days get an email about what they have missed.',
      },
      {
        kind: 'choice',
        name: 'digestWeekday',
        initial: 'TUESDAY',
        label: 'Day of weekly digests',
        explanation:
          'Sent at 8:00 in the time zone of each user. After a change, the next ones follow the last by at least seven days.',
        options: [
          ['MONDAY', 'Monday'],
          ['TUESDAY', 'Tuesday'],
          ['WEDNESDAY', 'Wednesday'],
          ['THURSDAY', 'Thursday'],
          ['FRIDAY', 'Friday'],
          ['SATURDAY', 'Saturday'],
          ['SUNDAY', 'Sunday'],
        ],
      },
    ],
  },
  {
    title: 'Channels and content',
    settings: [
      {
        kind: 'choice',
        name: 'topicsPolicy',
        initial: 'ALLOW_EMPTY_TOPIC',
        label: 'Messages without a topic',
        explanation: 'Channels can have their own setting.',
        options: [
          ['ALLOW_EMPTY_TOPIC', 'Allowed'],
          ['DISABLE_EMPTY_TOPIC', 'Not allowed'],
        ],
      },
      {
        kind: 'flag',
        name: 'enableSpectatorAccess',
        initial: false,
        label: 'Allow web-public channels',
        explanation: 'All guests can find and read these channels, even without being subscribed.',
      },
      {
        kind: 'flag',
        name: 'inlineImagePreview',
        initial: true,
        label: 'Show previews of linked images and videos',
        explanation: 'Applies to links in messages.',
      },
      {
        kind: 'flag',
        name: 'inlineUrlEmbedPreview',
        initial: false,
        label: 'Show previews of linked web pages',
        explanation: 'The server fetches the title, description and image of web pages that messages link to.',
      },
      {
        kind: 'flag',
        name: 'requireE2eePushNotifications',
        initial: false,
        label: 'Hide messages in unencrypted push notifications',
        explanation: 'Apps without encryption then show only that there is a new message.',
      },
      {
        kind: 'channel',
        name: 'newChannelAnnouncementsChannel',
        initial: null,
        label: 'Announce new channels in',
        explanation: 'The notification bot announces new public channels here if the creator chooses to.',
      },
      {
        kind: 'flag',
        name: 'sendChannelEventsMessages',
        initial: false,
        label: 'Post channel changes in the channel',
        explanation:
          'The notification bot posts a message when someone creates, renames, archives or restores a channel, or changes its description, privacy or message retention.',
      },
      {
        kind: 'choice',
        name: 'mediaPreviewSize',
        initial: 'SMALL',
        label: 'Size of previews',
        explanation: 'Size of image and video previews in messages.',
        options: [
          ['SMALL', 'Small'],
          ['MEDIUM', 'Medium'],
          ['LARGE', 'Large'],
        ],
      },
      {
        kind: 'text',
        name: 'defaultCodeBlockLanguage',
        limit: 50,
        initial: '',
        label: 'Default language of code blocks',
        explanation: 'Used to highlight code blocks without a language. For example “python”. Leave empty for none.',
      },
      {
        kind: 'choice',
        name: 'videoChatProvider',
        initial: 'NONE',
        label: 'Video calls',
        explanation: 'Provider of links to video calls. The operator of the server configures it.',
        options: [
          ['NONE', 'Off'],
          ['CONFIGURED', 'The configured provider'],
        ],
      },
    ],
  },
];

export type PermissionName = keyof NonNullable<UpdateOrganizationInput['permissions']>;

export interface PermissionSetting extends Described {
  readonly name: PermissionName;
  /** Role group that holds the permission in a new organization. */
  readonly initial: string;
  /** The only groups that can hold it. Absent: users and all groups, except those that `without` names. */
  readonly only?: readonly string[];
  /** Role groups that cannot hold it. */
  readonly without: readonly string[];
}

/** The permission can be held by every group except guests. */
const NOT_GUESTS = { without: ['role:internet', 'role:everyone'] } as const;
/** The permission can be held by every group. */
const ANY = { without: ['role:internet'] } as const;

export const PERMISSION_GROUPS: readonly Group<PermissionSetting>[] = [
  {
    title: 'People and groups',
    settings: [
      {
        name: 'canInviteUsers',
        initial: 'role:members',
        isOfOwners: true,
        ...NOT_GUESTS,
        label: 'Invite people by email',
        explanation: 'Inviters cannot give a higher role than their own.',
      },
      {
        name: 'createMultiuseInvite',
        initial: 'role:administrators',
        isOfOwners: true,
        ...NOT_GUESTS,
        label: 'Create invitation links',
        explanation: 'Anyone with the link can join until it expires.',
      },
      {
        name: 'canCreateGroups',
        initial: 'role:members',
        isOfOwners: true,
        ...NOT_GUESTS,
        label: 'Create groups',
        explanation: 'Groups can be mentioned and can be given permissions.',
      },
      {
        name: 'canManageAllGroups',
        initial: 'role:owners',
        isOfOwners: true,
        without: ['role:internet', 'role:everyone', 'role:nobody'],
        label: 'Manage all groups',
        explanation: 'Change the name, members and permissions of any group.',
      },
      {
        name: 'canAccessAllUsers',
        initial: 'role:everyone',
        only: ['role:everyone'],
        without: [],
        label: 'See all users',
        explanation: 'All users of the organization can see each other.',
      },
    ],
  },
  {
    title: 'Channels',
    settings: [
      {
        name: 'canCreatePublicChannel',
        initial: 'role:members',
        ...NOT_GUESTS,
        label: 'Create public channels',
        explanation: 'All users except guests can find and join them.',
      },
      {
        name: 'canCreatePrivateChannel',
        initial: 'role:members',
        ...NOT_GUESTS,
        label: 'Create private channels',
        explanation:
          'Administrators can see that they exist. Only subscribers, and users with permission, can read them.',
      },
      {
        name: 'canCreateWebPublicChannel',
        initial: 'role:owners',
        without: [],
        only: ['role:moderators', 'role:administrators', 'role:owners', 'role:nobody'],
        label: 'Create web-public channels',
        explanation: 'All guests can find and read these channels. The organization must allow them.',
      },
      {
        name: 'canAddSubscribers',
        initial: 'role:members',
        ...NOT_GUESTS,
        label: 'Subscribe other users to channels',
        explanation: 'Applies to all channels that the user can see.',
      },
      {
        name: 'canSetTopicsPolicy',
        initial: 'role:members',
        ...ANY,
        label: 'Allow or forbid messages without a topic in a channel',
        explanation: 'Applies to channels that the user administers.',
      },
      {
        name: 'canSetDeleteMessagePolicy',
        initial: 'role:moderators',
        ...NOT_GUESTS,
        label: 'Set who can delete messages in a channel',
        explanation: 'Applies to channels that the user administers.',
      },
    ],
  },
  {
    title: 'Messages',
    settings: [
      {
        name: 'canMentionManyUsers',
        initial: 'role:administrators',
        ...ANY,
        label: 'Mention all users of a large channel or topic',
        explanation: 'Large: more than 15 users. Mentions such as @all notify all of them.',
      },
      {
        name: 'canResolveTopics',
        initial: 'role:everyone',
        ...ANY,
        label: 'Resolve topics',
        explanation: 'Marks a topic as done.',
      },
      {
        name: 'canMoveMessagesBetweenTopics',
        initial: 'role:everyone',
        ...ANY,
        label: 'Move messages to another topic',
        explanation: 'Includes renaming topics. The time limit does not apply to moderators and administrators.',
      },
      {
        name: 'canMoveMessagesBetweenChannels',
        initial: 'role:members',
        ...NOT_GUESTS,
        label: 'Move messages to another channel',
        explanation: 'The time limit does not apply to moderators and administrators.',
      },
      {
        name: 'canDeleteOwnMessage',
        initial: 'role:everyone',
        ...ANY,
        label: 'Delete their own messages',
        explanation: 'Only within the time limit for deletions.',
      },
      {
        name: 'canDeleteAnyMessage',
        initial: 'role:administrators',
        ...NOT_GUESTS,
        label: 'Delete any message',
        explanation: 'Applies to all messages that the user can read, without a time limit.',
      },
    ],
  },
  {
    title: 'Direct messages',
    settings: [
      {
        name: 'directMessageInitiator',
        initial: 'role:everyone',
        ...ANY,
        label: 'Start direct conversations',
        explanation: 'Users without this permission can only reply.',
      },
      {
        name: 'directMessagePermission',
        initial: 'role:everyone',
        ...ANY,
        label: 'Required participants of direct conversations',
        explanation: 'Every direct conversation must include at least one of these users.',
      },
    ],
  },
  {
    title: 'Bots and emoji',
    settings: [
      {
        name: 'canCreateBots',
        initial: 'role:members',
        ...NOT_GUESTS,
        label: 'Create bots',
        explanation: 'A bot is a program with its own account.',
      },
      {
        name: 'canAddCustomEmoji',
        initial: 'role:members',
        ...NOT_GUESTS,
        label: 'Add custom emoji',
        explanation: 'All users can use custom emoji in messages and reactions.',
      },
    ],
  },
];

/** Labels of the settings and permissions, by their names. */
const LABELS: ReadonlyMap<string, string> = new Map(
  [...SETTING_GROUPS, ...PERMISSION_GROUPS].flatMap(({ settings }: Group<Described & { readonly name: string }>) =>
    settings.map(({ name, label }) => [name, label]),
  ),
);

/** Returns the label of a setting or permission by its name in the REST API. Undefined if the pages do not show it. */
export function labelOfSetting(restName: string): string | undefined {
  const name = restName
    .replace(/^org_type$/, 'organization_type')
    .replace(/streams?(?=_)/g, (word) => word.replace('stream', 'channel'))
    .replace('_dm_', '_direct_message_')
    .replace(/_channel_id$/, '_channel')
    .replace(/_group$/, '')
    .replace(/_(\w)/g, (_match, letter: string) => letter.toUpperCase());
  return LABELS.get(name);
}

/** Returns the groups whose settings match a search, each with the settings that match. */
export function matching<T extends Described>(groups: readonly Group<T>[], text: string): readonly Group<T>[] {
  const words = text.toLowerCase().split(/\s+/);
  const matches = (title: string, { label, explanation }: T) => {
    const all = `${title} ${label} ${explanation}`.toLowerCase();
    return words.every((word) => all.includes(word));
  };
  return groups
    .map(({ title, settings }) => ({ title, settings: settings.filter((setting) => matches(title, setting)) }))
    .filter(({ settings }) => settings.length > 0);
}
