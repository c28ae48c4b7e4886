/** A user whom a text may mention. */
export interface DirectoryUser {
  readonly id: number;
  readonly fullName: string;
  readonly isActive: boolean;
}

/** A group that a text may mention. */
export interface DirectoryGroup {
  readonly id: number;
  /** As it is shown: the display name of a role group. */
  readonly displayName: string;
  readonly isActive: boolean;
}

/**
 * What a text may refer to, already looked up: only what its author may know of.
 *
 * Names are asked for as the text writes them; `referencesIn` tells beforehand which.
 */
export interface Directory {
  /** Where clients find the organisation, without a slash at the end: links there become relative. */
  readonly realmUrl: string;
  /** What the empty topic is called. */
  readonly emptyTopicName: string;
  /** In whatever case; one of them, when several have the name. */
  userNamed(name: string): DirectoryUser | undefined;
  userWithId(id: number): DirectoryUser | undefined;
  /** In whatever case. */
  groupNamed(name: string): DirectoryGroup | undefined;
  /** In exactly this case. Undefined as well when the author may not read the channel. */
  channelNamed(name: string): { readonly id: number; readonly name: string } | undefined;
  /** Of those the author may read. */
  latestMessageId(channelId: number, topic: string): number | undefined;
  /** The organisation's own emoji of that name, while it is active. */
  customEmoji(name: string): { readonly url: string } | undefined;
}

/** How a text is to be rendered. */
export interface RenderOptions {
  /** Whether `:)` and the like become emoji: the sender's setting. */
  readonly translateEmoticons?: boolean;
  /** The language of fenced code that names none; "" for none. */
  readonly defaultCodeLanguage?: string;
  /** Whether linked images are shown below the block that links them. */
  readonly imagePreviews?: boolean;
  /** The time after which rendering is given up. @see renderMessage */
  readonly milliseconds?: number;
}

/** A text as HTML, and what it does. Mentions that are silent, or in a quote, do nothing. */
export interface RenderedMessage {
  readonly html: string;
  readonly mentionedUserIds: number[];
  readonly mentionedGroupIds: number[];
  /** Whether it mentions everybody in the channel or conversation. */
  readonly channelWildcard: boolean;
  /** Whether it mentions everybody in the topic. */
  readonly topicWildcard: boolean;
  readonly hasLink: boolean;
  /** Whether an image is shown. */
  readonly hasImage: boolean;
  /** Whether it refers to an upload; nothing can be uploaded, so that it never does. */
  readonly hasAttachment: boolean;
}
