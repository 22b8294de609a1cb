import type { Append } from './append.ts';
import type { Alone } from './mcp-call.ts';
import type { Depth, Measured, Memory } from './measure.ts';
import type { Pair, Subscriptions } from './pairs.ts';

export interface Report {
  readonly works: Measured[];
  readonly depths: Depth[];
  readonly appends: Append[];
  readonly pairs: Pair[];
  readonly alone: Alone[];
  readonly memory: Memory[];
  readonly subscriptions: Subscriptions[];
}

export const round = (value: number, digits = 2) => value.toFixed(digits);

/** The report as text tables. */
export function format({ works, depths, appends, pairs, alone, memory, subscriptions }: Report): string {
  return [
    ...(works.length > 0
      ? [
          table(
            [
              'work',
              'baseline/s',
              'gateway/s',
              'ratio',
              '(quartiles)',
              'must reach',
              'p50 ms',
              'p99 ms',
              'CPU ms/request',
              'CPU ratio',
              ...(works.some(({ old }) => old) ? ['old/s', 'old ratio', 'old p99 ms', 'old CPU ms/request'] : []),
            ],
            works.map(workRow),
          ),
        ]
      : []),
    ...(depths.length > 0
      ? [table(['page by depth', 'at 1, ms', 'half way ×', 'at the end ×', 'must reach'], depths.map(depthRow))]
      : []),
    ...(appends.length > 0
      ? [table(['append of 1000 events', 'INSERT/s', 'gateway/s', 'ratio', 'must reach'], appends.map(appendRow))]
      : []),
    ...(pairs.length > 0
      ? [table(['with and without', 'without/s', 'with/s', 'ratio', 'must reach'], pairs.map(pairRow))]
      : []),
    ...(alone.length > 0
      ? [
          table(
            ['one MCP call alone', 'direct ms', 'baseline ms', 'gateway ms', 'added', 'must reach'],
            alone.map(aloneRow),
          ),
        ]
      : []),
    ...(memory.length > 0
      ? [table(['memory, 64 connections', 'idle MiB', 'peak MiB', 'ratio', 'must reach'], memoryRows(memory))]
      : []),
    ...(subscriptions.length > 0
      ? [
          table(
            ['1000 idle subscriptions', 'before MiB', 'open MiB', 'KiB each', 'ratio', 'must reach'],
            subscriptionRows(subscriptions),
          ),
        ]
      : []),
  ].join('\n\n');
}

function workRow({ name, target, baseline, gateway, ratio, quartiles, old }: Measured): string[] {
  return [
    name,
    round(baseline.perSecond, 0),
    round(gateway.perSecond, 0),
    round(ratio),
    `${round(quartiles[0])}–${round(quartiles[1])}`,
    `≥ ${target}${ratio < target ? ' ✗' : ''}`,
    `${round(baseline.p50Ms, 1)} | ${round(gateway.p50Ms, 1)}`,
    `${round(baseline.p99Ms, 1)} | ${round(gateway.p99Ms, 1)}`,
    `${round(baseline.cpuMsPerRequest, 3)} | ${round(gateway.cpuMsPerRequest, 3)}`,
    round(baseline.cpuMsPerRequest / gateway.cpuMsPerRequest),
    ...(old
      ? [
          round(old.round.perSecond, 0),
          round(old.ratio),
          round(old.round.p99Ms, 1),
          round(old.round.cpuMsPerRequest, 3),
        ]
      : []),
  ];
}

const DEEP = 1.1;

function depthRow({ name, firstMs, middleRatio, lastRatio }: Depth): string[] {
  const judged = name.startsWith('gateway') ? `≤ ${DEEP}${Math.max(middleRatio, lastRatio) > DEEP ? ' ✗' : ''}` : '';
  return [name, round(firstMs), round(middleRatio), round(lastRatio), judged];
}

const APPEND = { alone: 0.6, together: 0.75 };

function appendRow({ clients, barePerSecond, gatewayPerSecond, ratio }: Append): string[] {
  const target = clients === 1 ? APPEND.alone : APPEND.together;
  return [
    `${clients} client${clients === 1 ? '' : 's'}`,
    round(barePerSecond, 1),
    round(gatewayPerSecond, 1),
    round(ratio),
    `≥ ${target}${ratio < target ? ' ✗' : ''}`,
  ];
}

function pairRow({ name, target, withoutPerSecond, withPerSecond, ratio }: Pair): string[] {
  return [
    name,
    round(withoutPerSecond, 1),
    round(withPerSecond, 1),
    round(ratio),
    `≥ ${target}${ratio < target ? ' ✗' : ''}`,
  ];
}

const SUBSCRIPTIONS = 1.2;

function subscriptionRows(measured: readonly Subscriptions[]): string[][] {
  const streams = measured.find(({ transport }) => transport === 'SSE')?.openMiB ?? Number.NaN;
  return measured.map(({ transport, beforeMiB, openMiB }) => [
    transport,
    round(beforeMiB, 0),
    round(openMiB, 0),
    round(((openMiB - beforeMiB) * 1024) / 1000, 0),
    round(openMiB / streams),
    transport === 'WebSocket' ? `≤ ${SUBSCRIPTIONS}${openMiB / streams > SUBSCRIPTIONS ? ' ✗' : ''}` : '',
  ]);
}

const ADDED_MS = 3;

function aloneRow({ directMs, baselineMs, gatewayMs }: Alone): string[] {
  const added = gatewayMs - directMs;
  return [
    'median',
    round(directMs),
    round(baselineMs),
    round(gatewayMs),
    round(added),
    `≤ ${ADDED_MS}${added > ADDED_MS ? ' ✗' : ''}`,
  ];
}

const MEMORY = 1.4;

function memoryRows(memory: readonly Memory[]): string[][] {
  const baseline = memory.find(({ name }) => name === 'baseline')?.peakMiB ?? Number.NaN;
  return memory.map(({ name, idleMiB, peakMiB }) => {
    const ratio = peakMiB / baseline;
    return [
      name,
      round(idleMiB, 0),
      round(peakMiB, 0),
      round(ratio),
      name === 'gateway' ? `≤ ${MEMORY}${ratio > MEMORY ? ' ✗' : ''}` : '',
    ];
  });
}

/** A text table with columns as wide as their widest cell, the first left-aligned, the others right-aligned. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, column) => Math.max(name.length, ...rows.map((row) => (row[column] ?? '').length)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ');
  return [line(head), widths.map((width) => '─'.repeat(width)).join('  '), ...rows.map(line)].join('\n');
}
