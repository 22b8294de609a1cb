import { type HttpAnswer, type HttpRequest, answerWith } from '../../core/http/messages.ts';
import { fileParameters } from '../../core/input/file-parameters.ts';
import { FILE_NAME_HEADER, ndjsonFile, ndjsonHeaders } from '../../core/http/ndjson.ts';
import { routesOf } from '../../core/http/route.ts';
import type { OperationContext } from '../../core/operation.ts';
import { stringifyWithRawJson } from '../../core/text/raw-json.ts';
import {
  type ExportedLines,
  exportMemberInput,
  exportOrganization,
  exportOrganizationInput,
  exportOrganizationMember,
} from './operations.ts';

const route = routesOf('Organizations');

export const organizationExportRoutes = [
  route('GET /v1/organizations/:organizationId/export', exportOrganization, {
    input: exportOrganizationInput.extend(fileParameters('ndjson')),
    mediaTypes: {
      'application/x-ndjson':
        'A line for each object, with its `kind`: `member`, `suspendedMember`, `formerMember`, `identity`, `serviceAccount`, `group`, `invitation`, `apiKey`, `project`, `session`, `artifact`, `pullRequest`, `sessionEvent`, `mcpConnection`, `toolApproval`, `eventDefinition`, `eventOccurrence`, `objectIdentifier`, `broadcast`, `webhook`, `auditEntry` or `retention`. The first line has `kind` `export`, the last one `end`, with `counts`.',
    },
    answerHeaders: FILE_NAME_HEADER,
    respond: (context, input, request) =>
      fileOf(context, request, `organization-${input.organizationId}`, () => exportOrganization(context, input)),
  }),
  route('GET /v1/organizations/:organizationId/members/:userId/export', exportOrganizationMember, {
    input: exportMemberInput.extend(fileParameters('ndjson')),
    mediaTypes: {
      'application/x-ndjson':
        'A line for each object, with its `kind`, as in the export of the organization. The first line has `kind` `export`, the last one `end`, with `counts`.',
    },
    answerHeaders: FILE_NAME_HEADER,
    respond: (context, input, request) =>
      fileOf(context, request, `person-${input.userId}`, () => exportOrganizationMember(context, input)),
  }),
];

async function fileOf(
  context: OperationContext,
  { method }: HttpRequest,
  name: string,
  begin: () => Promise<ExportedLines>,
): Promise<HttpAnswer> {
  // Nothing would be read.
  if (method === 'HEAD') return answerWith(null, { headers: ndjsonHeaders(name) });
  const { lines, end } = await begin();
  return ndjsonFile<object>(context, { name, batches: lines, toLine: stringifyWithRawJson, onLeave: () => void end() });
}
