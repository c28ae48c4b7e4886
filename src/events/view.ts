/** What a client said it can handle. */
export const CAPABILITIES = [
  'notification_settings_null',
  'bulk_message_deletion',
  'user_avatar_url_field_optional',
  'stream_typing_notifications',
  'user_settings_object',
  'linkifier_url_template',
  'user_list_incomplete',
  'include_deactivated_groups',
  'archived_channels',
  'empty_topic_name',
  'simplified_presence_events',
  'individual_emoji_changes',
] as const;

export type Capability = (typeof CAPABILITIES)[number];
export type Capabilities = Readonly<Record<Capability, boolean>>;

const allOf = (has: boolean) => Object.fromEntries(CAPABILITIES.map((name) => [name, has])) as Capabilities;
export const NO_CAPABILITIES = allOf(false);
export const ALL_CAPABILITIES = allOf(true);

/** What a queue was registered with that shapes how events look in it. */
export interface RenderOptions {
  /** Message content as HTML instead of source text. */
  readonly applyMarkdown: boolean;
  /** `avatar_url` is null where the client can work it out. */
  readonly clientGravatar: boolean;
  readonly includeSubscribers: 'true' | 'false' | 'partial';
  /** Presence without e-mail addresses. */
  readonly slimPresence: boolean;
  readonly capabilities: Capabilities;
}

/** What a queue was registered with. Stored with the queue. */
export interface QueueOptions extends RenderOptions {
  /** The event types heard; null: all. Heartbeats always come. */
  readonly eventTypes: readonly string[] | null;
  readonly allPublicChannels: boolean;
  /** Terms all of which a message must match to be heard; other events are not filtered. */
  readonly narrow: readonly (readonly [string, string])[];
}

/** For whom an event is rendered: nothing else may change what it looks like. */
export interface EventView {
  readonly role: number;
  /** This and the next two: only for event types defined `perUser`. */
  readonly userId: number;
  /** Whether the event is theirs, not just overheard by a queue for all public channels. */
  readonly isRecipient: boolean;
  readonly queueId: string;
  readonly options: RenderOptions;
}

const keys = new WeakMap<RenderOptions, string>();

/** Queues with the same key see the same rendering, for one role, of every event that is not `perUser`. */
export function optionsKey(options: RenderOptions): string {
  // Kept, because it is asked for with every delivery.
  let key = keys.get(options);
  if (key === undefined) {
    const { applyMarkdown, clientGravatar, includeSubscribers, slimPresence, capabilities } = options;
    const flags = CAPABILITIES.map((name) => Number(capabilities[name])).join('');
    key = `${Number(applyMarkdown)}${Number(clientGravatar)}${Number(slimPresence)} ${includeSubscribers} ${flags}`;
    keys.set(options, key);
  }
  return key;
}
