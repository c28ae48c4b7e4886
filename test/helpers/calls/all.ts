import { alertWords } from './alert-words.ts';
import { auth } from './auth.ts';
import { avatars } from './avatars.ts';
import { bots } from './bots.ts';
import { channelArchive } from './channel-archive.ts';
import { channelFolders } from './channel-folders.ts';
import { channels } from './channels.ts';
import { customEmoji } from './custom-emoji.ts';
import { deactivation } from './deactivation.ts';
import { drafts } from './drafts.ts';
import { eventQueue } from './event-queue.ts';
import type { FeatureCalls } from './feature.ts';
import { messageEdits } from './message-edits.ts';
import { messageFlags } from './message-flags.ts';
import { messages } from './messages.ts';
import { navigationViews } from './navigation-views.ts';
import { organization } from './organization.ts';
import { presence } from './presence.ts';
import { profileFields } from './profile-fields.ts';
import { reactions } from './reactions.ts';
import { realmDomains } from './realm-domains.ts';
import { reminders } from './reminders.ts';
import { reports } from './reports.ts';
import { savedSnippets } from './saved-snippets.ts';
import { scheduledMessages } from './scheduled-messages.ts';
import { server } from './server.ts';
import { sessions } from './sessions.ts';
import { settings } from './settings.ts';
import { subscriptions } from './subscriptions.ts';
import { topics } from './topics.ts';
import { typing } from './typing.ts';
import { userDefaults } from './user-defaults.ts';
import { userGroups } from './user-groups.ts';
import { userStatus } from './user-status.ts';
import { users } from './users.ts';
import { videoCalls } from './video-calls.ts';

/**
 * The calls of every feature, in the order in which they run. Calls that remove an object run after all calls that need it:
 * emoji after reactions, messages after edits, archived channels last. Calls of channels precede calls of subscriptions,
 * because the latter end with unsubscribing.
 */
export const ALL_CALLS: readonly FeatureCalls[] = [
  channels,
  userStatus,
  alertWords,
  avatars,
  presence,
  navigationViews,
  realmDomains,
  userGroups,
  channelFolders,
  subscriptions,
  eventQueue,
  users,
  profileFields,
  topics,
  scheduledMessages,
  reminders,
  drafts,
  auth,
  sessions,
  savedSnippets,
  messages,
  messageFlags,
  reactions,
  typing,
  reports,
  customEmoji,
  messageEdits,
  settings,
  userDefaults,
  organization,
  bots,
  deactivation,
  videoCalls,
  server,
  channelArchive,
];

/** Merges the tables of all features into one. @throws {Error} If two features define a call of one name. */
export function gather<T>(tables: readonly (Readonly<Record<string, T>> | undefined)[]): Readonly<Record<string, T>> {
  const entries = tables.flatMap((table = {}) => Object.entries(table));
  const gathered = Object.fromEntries(entries);
  if (Object.keys(gathered).length < entries.length) throw new Error('Two features have the same call');
  return gathered;
}
