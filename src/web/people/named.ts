/** A user or a group with its display name. */
export interface Named {
  readonly id: string;
  readonly fullName: string;
  readonly isGroup?: boolean;
}
