/** Somebody, or a group, by what they are called. */
export interface Named {
  readonly id: string;
  readonly fullName: string;
  readonly isGroup?: boolean;
}
