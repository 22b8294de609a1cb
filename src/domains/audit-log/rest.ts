import { z } from 'zod';
import { prefers } from '../../core/http/accept.ts';
import { fileParameters } from '../../core/input/file-parameters.ts';
import { answerJson, answerWith } from '../../core/http/messages.ts';
import { FILE_NAME_HEADER, NDJSON_TYPE, ndjsonFile, ndjsonHeaders } from '../../core/http/ndjson.ts';
import { routesOf } from '../../core/http/route.ts';
import { followAuditLogInput } from './input.ts';
import { auditEntryDocument, toAuditEntry } from './documents.ts';
import { exportAuditLog, listAuditLog } from './operations.ts';

const route = routesOf('Audit log');
const FILE = 'audit-log';

const pageDocument = z
  .strictObject({
    items: z.array(auditEntryDocument).describe('The entries of the page.'),
    nextCursor: z
      .string()
      .describe('The cursor after the page, also at the end of the log, so that you can always go on with it.')
      .meta({ example: '1207' }),
  })
  .meta({ id: 'AuditLogPage' });

export const auditLogRoutes = [
  route('GET /v1/audit-log', listAuditLog, {
    description:
      'Follow `nextCursor` for ever: entries come in the order of the commits, each once, and a page without any can be followed by others, because a page looks at 10,000 entries at most. The call of a tool is listed when it has ended, or after 15 minutes.\n\nWith `Accept: application/x-ndjson` the answer is the whole range after `cursor`, and the audit log says who has taken it.',
    input: followAuditLogInput.extend(fileParameters('ndjson')),
    output: pageDocument,
    mediaTypes: { [NDJSON_TYPE]: 'An `AuditEntry` on each line.' },
    answerHeaders: FILE_NAME_HEADER,
    respond: async (context, input, request) => {
      const toItem = toAuditEntry(context.actor);
      if (!input.format && !prefers(NDJSON_TYPE, request.headers)) {
        const { entries, nextCursor } = await listAuditLog(context, input);
        context.budget.close();
        return answerJson({ items: entries.map(toItem), nextCursor });
      }
      // Nothing would be read.
      if (request.method === 'HEAD') return answerWith(null, { headers: ndjsonHeaders(FILE) });
      const batches = await exportAuditLog(context, input);
      return ndjsonFile(context, { name: FILE, batches, toLine: (row) => JSON.stringify(toItem(row)) });
    },
  }),
];
