import { type HttpAnswer, answerWith } from '../../core/http/messages.ts';
import { route } from '../../core/http/route.ts';
import { textStream } from '../../core/http/text-stream.ts';
import { type ExportedLines, exportOrganization } from './operations.ts';

export const organizationExportRoutes = [
  route(exportOrganization, {
    method: 'GET',
    path: '/v1/organizations/:organizationId/export',
    tag: 'Organizations',
    status: 200,
    mediaTypes: {
      'application/x-ndjson':
        'A line for each object, with its `kind`: `member`, `project`, `session`, `artifact`, `pullRequest`, `sessionEvent`, `mcpConnection`, `eventDefinition`, `eventOccurrence`, `objectIdentifier`, `webhook`, `apiKey` or `auditEntry`. The first line has `kind` `export`, the last one `end`, with `counts`.',
    },
    answerHeaders: {
      'Content-Disposition': { description: 'A file name for browsers (RFC 6266).', schema: { type: 'string' } },
    },
    respond: async (context, input, request): Promise<HttpAnswer> => {
      const headers = {
        'Content-Type': 'application/x-ndjson; charset=utf-8',
        'Content-Disposition': `attachment; filename="organization-${input.organizationId}.ndjson"`,
      };
      // Nothing would be read.
      if (request.method === 'HEAD') return answerWith(null, { headers });
      const exported = await exportOrganization(context, input);
      const leave = () => {
        context.budget.close();
        void exported.end();
      };
      return answerWith(textStream(textsOf(exported), leave), { headers });
    },
  }),
];

async function* textsOf({ lines }: ExportedLines): AsyncGenerator<string, void, undefined> {
  for await (const some of lines) yield some.map((line) => `${JSON.stringify(line)}\n`).join('');
}
