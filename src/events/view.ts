/** The optional capabilities that a client can declare when it registers a queue. */
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

/** The options of a queue that affect how events are rendered in it. */
export interface RenderOptions {
  /** Whether message content is sent as HTML instead of Markdown source. */
  readonly applyMarkdown: boolean;
  /** The client's option `client_gravatar`. It has no effect: `avatar_url` is always set. */
  readonly clientGravatar: boolean;
  readonly includeSubscribers: 'true' | 'false' | 'partial';
  /** Whether presence events identify users by id only, without email addresses. */
  readonly slimPresence: boolean;
  readonly capabilities: Capabilities;
}

/** The options that a queue was registered with. Stored with the queue. */
export interface QueueOptions extends RenderOptions {
  /** Types of the events that are delivered. Null: all types. Heartbeats are always sent. */
  readonly eventTypes: readonly string[] | null;
  readonly allPublicChannels: boolean;
  /** Terms that a message must all match to be delivered. Other events are not filtered. */
  readonly narrow: readonly (readonly [string, string])[];
}

/** The viewer and options that an event is rendered for. A rendering depends only on the event and on these fields. */
export interface EventView {
  readonly role: number;
  /** Renderings may read `userId`, `isRecipient` and `queueId` only if the event type is defined with `perUser`. */
  readonly userId: number;
  /** Whether the user is in the audience. False if only the queue's option `allPublicChannels` selects the event. */
  readonly isRecipient: boolean;
  readonly queueId: string;
  readonly options: RenderOptions;
}

const keys = new WeakMap<RenderOptions, string>();

/**
 * Returns a key of the options. If the keys and roles of two queues are equal, both share the rendering of every event that is
 * not `perUser`.
 */
export function optionsKey(options: RenderOptions): string {
  // The key is cached, because every delivery of an event needs it.
  let key = keys.get(options);
  if (key === undefined) {
    const { applyMarkdown, clientGravatar, includeSubscribers, slimPresence, capabilities } = options;
    const flags = CAPABILITIES.map((name) => Number(capabilities[name])).join('');
    key = `${Number(applyMarkdown)}${Number(clientGravatar)}${Number(slimPresence)} ${includeSubscribers} ${flags}`;
    keys.set(options, key);
  }
  return key;
}
