import { z } from 'zod';

/** The pattern alone, because a schema takes ten times as long. */
const UUID = z.regexes.uuid();

/** Whether the text is a UUID in its hyphenated form (RFC 9562). */
export const isUuid = (text: string): boolean => UUID.test(text);
