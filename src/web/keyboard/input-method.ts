/** The `keyCode` of a key that an input method handles. */
const HANDLED = 229;

/**
 * Returns whether an input method handles a key, to choose, confirm or cancel the composed text. Safari ends the composition
 * before the event of the confirming key, which only has the `keyCode`.
 */
export const isForInputMethod = ({ isComposing, keyCode }: KeyboardEvent): boolean =>
  isComposing || keyCode === HANDLED;
