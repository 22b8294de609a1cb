import { useState } from 'preact/hooks';
import { type Answer, run } from '../parts/api.ts';
import { CheckField, SelectField, TextField } from '../parts/form-fields.tsx';
import type { DialogProps } from '../parts/form-button.tsx';
import { FormDialog, useForm } from '../parts/form.tsx';
import { type Connection, type Tool, effectOf } from './mcp-connection-types.ts';
import type { Answers } from '../generated/operation-types.ts';
import { type Argument, JSON_ARGUMENTS, argumentsIn, readArguments } from './tool-arguments.ts';

/** Calls a tool with a form that is made from the schema of its arguments. */

type Result = Extract<
  NonNullable<Answers['CallMcpTool']['callMcpTool']>,
  { readonly __typename: 'CallMcpToolPayload' }
>;

interface TryToolProps extends DialogProps {
  readonly server: Connection;
  readonly tool: Tool;
}

export function TryTool({ server, tool, onClose }: TryToolProps) {
  const [result, setResult] = useState<Result>();
  const args = argumentsIn(tool.inputSchema);
  const form = useForm<Record<string, unknown>, Answers['CallMcpTool']>({
    initial: args ? Object.fromEntries(args.map(({ field, initial }) => [field, initial])) : { [JSON_ARGUMENTS]: '{}' },
    send: (values, { idempotencyKey }): Promise<Answer<Answers['CallMcpTool']>> => {
      const read = readArguments(args, values);
      if ('fault' in read) return Promise.resolve({ data: null, faults: [{ message: read.fault }] });
      const input = { mcpServerId: server.id, name: tool.name, arguments: read.value };
      return run('CallMcpTool', { input }, { idempotencyKey });
    },
    onDone: setResult,
  });
  const isDangerous = effectOf(tool) !== 'Reads';
  return (
    <FormDialog
      title={`Try ${tool.name}`}
      submit={isDangerous ? 'Call the tool for real' : 'Call the tool'}
      isDanger={isDangerous}
      form={form}
      isDone={result !== undefined}
      onClose={onClose}
    >
      {tool.description && <p class="soft">{tool.description}</p>}
      {args ? (
        args.map((each) => <ArgumentField key={each.field} argument={each} />)
      ) : (
        <TextField name={JSON_ARGUMENTS} label="Arguments as JSON" isRequired rows={8} />
      )}
      {args?.length === 0 && <p class="soft">The tool takes no arguments.</p>}
      {result && <ResultView result={result} />}
    </FormDialog>
  );
}

function ArgumentField({ argument }: { readonly argument: Argument }) {
  const { field, name, kind, isRequired, help, choices } = argument;
  if (kind === 'boolean' && isRequired) return <CheckField name={field} label={name} help={help} />;
  if (choices) return <SelectField name={field} label={name} help={help} choices={choices} isRequired={isRequired} />;
  const isJson = kind === 'json';
  return (
    <TextField
      name={field}
      label={isJson ? `${name} as JSON` : name}
      isRequired={isRequired}
      help={help}
      rows={isJson ? 4 : undefined}
    />
  );
}

function ResultView({ result }: { readonly result: Result }) {
  const { isError, content, structuredContent, durationMs } = result;
  return (
    <section class="tool-result" role="status" aria-label="Result">
      <p>
        <strong>{isError ? 'The tool has failed' : 'The tool has answered'}</strong>
        <span class="soft"> in {durationMs.toLocaleString()} ms</span>
      </p>
      {content.map((block) => (
        <pre tabindex={0}>{textOf(block)}</pre>
      ))}
      {structuredContent !== null && (
        <>
          <p class="soft">Structured result</p>
          <pre tabindex={0}>{JSON.stringify(structuredContent, null, 2)}</pre>
        </>
      )}
    </section>
  );
}

/** The text of a block of text, and others as JSON. */
function textOf(block: unknown): string {
  const text: unknown = typeof block === 'object' && block !== null ? Reflect.get(block, 'text') : undefined;
  return typeof text === 'string' ? text : JSON.stringify(block, null, 2);
}
