/** Ids of rows are int4, but those of messages and events. */
export const MAX_ROW_ID = 2_147_483_647;

/** Whether a row can have the id; other numbers name none. */
export const isRowId = (id: number): boolean => Number.isInteger(id) && id >= 1 && id <= MAX_ROW_ID;
