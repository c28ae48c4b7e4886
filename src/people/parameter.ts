/**
 * Returns the name of a parameter within an item of the request: `subscriptions[0]["color"]`.
 *
 * @param place Path of the item, such as `subscriptions[0]`. Undefined: the parameter is not within an item.
 */
export const parameterAt = (place: string | undefined, name: string): string =>
  place === undefined ? name : `${place}["${name}"]`;
