/** A user that a text can mention. */
export interface DirectoryUser {
  readonly id: number;
  readonly fullName: string;
  readonly isActive: boolean;
}

/** A group that a text can mention. */
export interface DirectoryGroup {
  readonly id: number;
  /** Name as shown. For a role group, its display name. */
  readonly displayName: string;
  readonly isActive: boolean;
}

/**
 * Objects that a text can refer to, looked up in advance. Contains only objects that the author can see.
 *
 * Names are looked up as written in the text. `referencesIn` returns them in advance.
 */
export interface Directory {
  /** URL of the organization, without a slash at the end. Links to it become relative. */
  readonly realmUrl: string;
  /** Name shown for the empty topic. */
  readonly emptyTopicName: string;
  /** Ignores case. If several users have the name, returns one of them. */
  userNamed(name: string): DirectoryUser | undefined;
  userWithId(id: number): DirectoryUser | undefined;
  /** Ignores case. */
  groupNamed(name: string): DirectoryGroup | undefined;
  /** Case-sensitive. Undefined also if the author cannot read the channel. */
  channelNamed(name: string): { readonly id: number; readonly name: string } | undefined;
  /** Considers only messages that the author can read. */
  latestMessageId(channelId: number, topic: string): number | undefined;
  /** Returns an active custom emoji of the organization by its name. */
  customEmoji(name: string): { readonly url: string } | undefined;
}

/** Options for rendering a text. */
export interface RenderOptions {
  /** Whether emoticons such as `:)` become emoji: a setting of the sender. */
  readonly translateEmoticons?: boolean;
  /** Language of fenced code that names none. "" for none. */
  readonly defaultCodeLanguage?: string;
  /** Whether linked images are shown below the block that links them. */
  readonly imagePreviews?: boolean;
  /** Time limit of rendering. @see renderMessage */
  readonly milliseconds?: number;
}

/** A text as HTML, with its effects. Silent mentions and mentions in quotes have no effect. */
export interface RenderedMessage {
  readonly html: string;
  readonly mentionedUserIds: number[];
  readonly mentionedGroupIds: number[];
  /** Whether it mentions all members of the channel or conversation. */
  readonly channelWildcard: boolean;
  /** Whether it mentions all participants of the topic. */
  readonly topicWildcard: boolean;
  readonly hasLink: boolean;
  /** Whether an image is shown. */
  readonly hasImage: boolean;
  /** Whether it refers to an upload. Always false, because uploads are not supported. */
  readonly hasAttachment: boolean;
}
