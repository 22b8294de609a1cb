import { type HttpAnswer, answerWith } from '../../core/http/messages.ts';
import { FILE_NAME_HEADER, ndjsonFile, ndjsonHeaders } from '../../core/http/ndjson.ts';
import { routesOf } from '../../core/http/route.ts';
import { stringifyWithRawJson } from '../../core/text/raw-json.ts';
import { exportOrganization } from './operations.ts';

const route = routesOf('Organizations');

export const organizationExportRoutes = [
  route('GET /v1/organizations/:organizationId/export', exportOrganization, {
    mediaTypes: {
      'application/x-ndjson':
        'A line for each object, with its `kind`: `member`, `project`, `session`, `artifact`, `pullRequest`, `sessionEvent`, `mcpConnection`, `eventDefinition`, `eventOccurrence`, `objectIdentifier`, `webhook`, `apiKey` or `auditEntry`. The first line has `kind` `export`, the last one `end`, with `counts`.',
    },
    answerHeaders: FILE_NAME_HEADER,
    respond: async (context, input, request): Promise<HttpAnswer> => {
      const name = `organization-${input.organizationId}`;
      // Nothing would be read.
      if (request.method === 'HEAD') return answerWith(null, { headers: ndjsonHeaders(name) });
      const { lines, end } = await exportOrganization(context, input);
      return ndjsonFile<object>(context, {
        name,
        batches: lines,
        toLine: stringifyWithRawJson,
        onLeave: () => void end(),
      });
    },
  }),
];
