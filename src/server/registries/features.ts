import { apiKeys } from '../../administration/api-keys/feature.ts';
import { auditLog } from '../../administration/audit-log/feature.ts';
import { bots, ownApiKey } from '../../administration/bots/feature.ts';
import { deactivation } from '../../administration/deactivation/feature.ts';
import { domains } from '../../administration/domains/feature.ts';
import { emailChanges } from '../../administration/email-changes/feature.ts';
import { invitations } from '../../administration/invitations/feature.ts';
import { newOrganizations } from '../../administration/new-organizations/feature.ts';
import { organization } from '../../administration/organization/feature.ts';
import { passwordResets } from '../../administration/password-resets/feature.ts';
import { secondFactor } from '../../administration/second-factor/feature.ts';
import { sessions } from '../../administration/sessions/feature.ts';
import { signIn } from '../../administration/sign-in/feature.ts';
import { signUp } from '../../administration/sign-up/feature.ts';
import { singleSignOn } from '../../administration/single-sign-on/feature.ts';
import { userDefaults } from '../../administration/user-defaults/feature.ts';
import { userGroups } from '../../administration/user-groups/feature.ts';
import { ownSettings, users } from '../../administration/users/feature.ts';
import type { Feature } from '../../api/feature.ts';
import type { Endpoint } from '../../api/rest/endpoint.ts';
import type { StateGroup } from '../../api/state-group.ts';
import { channels } from '../../channels/feature.ts';
import { folders } from '../../channels/folders/feature.ts';
import { subscriptions } from '../../channels/subscriptions/feature.ts';
import { attachments } from '../../messages/attachments/feature.ts';
import { conversations } from '../../messages/conversations/feature.ts';
import { drafts } from '../../messages/drafts/feature.ts';
import { edits } from '../../messages/edits/feature.ts';
import { messages } from '../../messages/feature.ts';
import { flags } from '../../messages/flags/feature.ts';
import { liveCounts } from '../../messages/live-counts/feature.ts';
import { narrow } from '../../messages/narrow/feature.ts';
import { notifications } from '../../messages/notifications/feature.ts';
import { reactions } from '../../messages/reactions/feature.ts';
import { reminders } from '../../messages/reminders/feature.ts';
import { reports } from '../../messages/reports/feature.ts';
import { scheduled } from '../../messages/scheduled/feature.ts';
import { sending } from '../../messages/sending/feature.ts';
import { snippets } from '../../messages/snippets/feature.ts';
import { topicPolicies } from '../../messages/topic-policies/feature.ts';
import { topics } from '../../messages/topics/feature.ts';
import { typing } from '../../messages/typing/feature.ts';
import { alertWords } from '../../people/alert-words/feature.ts';
import { avatars } from '../../people/avatars/feature.ts';
import { emoji } from '../../people/emoji/feature.ts';
import { people } from '../../people/feature.ts';
import { navigationViews } from '../../people/navigation-views/feature.ts';
import { presence } from '../../people/presence/feature.ts';
import { profileFields } from '../../people/profile-fields/feature.ts';
import { status } from '../../people/status/feature.ts';
import { videoCalls } from '../../people/video-calls/feature.ts';
import { registration } from '../registration/feature.ts';
import { typeAhead } from '../type-ahead/feature.ts';

/** A section of the page /docs, with the features whose endpoints it describes. */
export interface Section {
  readonly name: string;
  /** Description for /docs: one sentence. Absent if the name is sufficient. */
  readonly about?: string;
  readonly features: readonly Feature[];
}

/**
 * All features of the service, in sections, in the order of the page /docs. Endpoints, state and GraphQL types are derived from
 * this list.
 */
export const SECTIONS: readonly Section[] = [
  {
    name: 'Messages',
    about: 'Send, read, search, edit and delete messages.',
    features: [messages, edits, narrow, sending, reports, conversations],
  },
  {
    name: 'Message flags and read status',
    about: 'Starred, collapsed and read messages, and read receipts.',
    features: [flags, liveCounts],
  },
  { name: 'Reactions and typing', features: [reactions, typing] },
  {
    name: 'Topics',
    about: 'Topics group the messages of a channel. Users can mute and follow them.',
    features: [topics, topicPolicies],
  },
  {
    name: 'Scheduled messages and reminders',
    about: 'Messages that the server sends at a given time, and reminders of existing messages.',
    features: [scheduled, reminders],
  },
  { name: 'Files', about: 'Upload files, to be linked in messages.', features: [attachments] },
  { name: 'Drafts', features: [drafts] },
  { name: 'Saved snippets', about: 'Texts that users save to use again.', features: [snippets] },
  { name: 'Channels', features: [channels] },
  {
    name: 'Subscriptions',
    about: 'Subscribers of channels, and settings of subscriptions.',
    features: [subscriptions],
  },
  { name: 'Channel folders', features: [folders] },
  {
    name: 'Event queues',
    about: 'Queues of all changes. GraphQL reads the same queues over WebSocket and server-sent events.',
    features: [registration],
  },
  { name: 'Users', features: [people, users, deactivation, typeAhead] },
  {
    name: 'Your settings',
    about: 'Avatar, preferences, alert words and views in the sidebar.',
    features: [ownSettings, emailChanges, avatars, alertWords, notifications, navigationViews],
  },
  {
    name: 'Profiles',
    about: 'Custom profile fields of the organization, and their values.',
    features: [profileFields],
  },
  { name: 'Statuses and presence', features: [status, presence] },
  { name: 'User groups', features: [userGroups] },
  {
    name: 'Invitations',
    about: 'Invite people by email or by link.',
    features: [invitations, signUp, newOrganizations],
  },
  { name: 'Bots', features: [bots] },
  {
    name: 'Signing in',
    about: 'API keys, and sessions of browsers.',
    features: [signIn, ownApiKey, apiKeys, sessions, secondFactor, passwordResets, singleSignOn],
  },
  { name: 'Video calls', features: [videoCalls] },
  { name: 'The organization', features: [organization, userDefaults, domains, emoji, auditLog] },
];

/** Returns the endpoints of a section, in the order of the page /docs. */
export const endpointsOf = ({ features }: Section): readonly Endpoint[] =>
  features.flatMap(({ endpoints = [] }) => endpoints);

export const routes: readonly Endpoint[] = SECTIONS.flatMap(endpointsOf);

/**
 * All groups of state that the registration of a queue can return. If a client requests a group that is not in this list, the
 * name is ignored.
 */
export const STATE_GROUPS: readonly StateGroup[] = SECTIONS.flatMap(({ features }) =>
  features.flatMap(({ state = [] }) => state),
);
