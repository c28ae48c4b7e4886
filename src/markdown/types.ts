/** A user that a text can mention. */
export interface DirectoryUser {
  readonly id: number;
  readonly fullName: string;
  readonly isActive: boolean;
}

/** A group that a text can mention. */
export interface DirectoryGroup {
  readonly id: number;
  /** Name that is shown in mentions. Differs from the stored name for role groups. */
  readonly displayName: string;
  readonly isActive: boolean;
}

/** An uploaded file to which a text links. */
export interface DirectoryUpload {
  readonly id: number;
  /** Path of the file on the host of the organization. */
  readonly url: string;
  /** Name of the file as its owner uploaded it. */
  readonly name: string;
  /** Media type, detected from the content of the file. */
  readonly mediaType: string;
  /** Thumbnail of the file and the size of the whole image in pixels. Null if the file has no thumbnail. */
  readonly image: {
    readonly url: string;
    readonly width: number;
    readonly height: number;
    readonly isAnimated: boolean;
  } | null;
}

/**
 * Functions that look up the users, groups, channels, messages and custom emoji to which a text refers. They return only what
 * the author of the text can see.
 *
 * Names are passed as written in the text. Only names and ids that `referencesIn` returned for the text can be looked up.
 */
export interface Directory {
  /**
   * URL of the organization, without a slash at the end. Links to fragments (`#…`) and uploaded files at this URL become
   * relative.
   */
  readonly organizationUrl: string;
  /** Name that is shown for a topic with the empty name. */
  readonly emptyTopicName: string;
  /**
   * Returns the user with a full name, ignoring case. If several users have the name, returns one of them. Undefined if no user
   * has the name.
   */
  userNamed(name: string): DirectoryUser | undefined;
  userWithId(id: number): DirectoryUser | undefined;
  /** Returns the group with a name, ignoring case. Undefined if there is no such group. */
  groupNamed(name: string): DirectoryGroup | undefined;
  /** Returns the channel with a name, case-sensitive. Undefined if there is none, or if the author cannot read the channel. */
  channelNamed(name: string): { readonly id: number; readonly name: string } | undefined;
  /** Returns the id of the latest of those messages in a topic that the author can read. Undefined if there is none. */
  latestMessageId(channelId: number, topic: string): number | undefined;
  /** Returns an active custom emoji of the organization by its name. Undefined if there is none. */
  customEmoji(name: string): { readonly url: string } | undefined;
  /**
   * Returns the uploaded file at a URL, if the author can read it. Undefined for other URLs. Absent if the text has no address of
   * an uploaded file.
   */
  readonly upload?: (url: string) => DirectoryUpload | undefined;
}

/** Options for rendering a text. */
export interface RenderOptions {
  /** Whether emoticons such as `:)` become emoji. Depends on a setting of the sender. */
  readonly translateEmoticons?: boolean;
  /** Language of fenced code that names none. "" if such code has no language. */
  readonly defaultCodeLanguage?: string;
  /**
   * Returns the address from which a linked image of another website is loaded. The image is shown below the block that links
   * it. Absent if such images are not shown.
   */
  readonly imageAddress?: (url: string) => string;
  /** Time limit of each attempt to render the text, in milliseconds. Default: 1,000. @see renderMessage */
  readonly milliseconds?: number;
}

/** A text as HTML, with its mentions and properties. Silent mentions and mentions in quotes are not included. */
export interface RenderedMessage {
  readonly html: string;
  readonly mentionedUserIds: readonly number[];
  readonly mentionedGroupIds: readonly number[];
  /** Whether the text mentions all members of the channel or conversation. */
  readonly channelWildcard: boolean;
  /** Whether the text mentions all participants of the topic. */
  readonly topicWildcard: boolean;
  readonly hasLink: boolean;
  /** Whether the HTML contains images: previews of linked images, or images within the text. */
  readonly hasImage: boolean;
  /** Whether the text links to an uploaded file that its author can read. */
  readonly hasAttachment: boolean;
  /** Ids of the uploaded files to which the text links. */
  readonly attachmentIds: readonly number[];
}
