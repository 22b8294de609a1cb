import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FrameReader } from '../../../src/gateway/http/websocket-frames.ts';

interface Frame {
  readonly opcode: number;
  readonly isFinal: boolean;
  readonly length: number;
  readonly isMasked: boolean;
}

/** A frame as bytes (RFC 6455, section 5.2). */
function bytesOf({ opcode, isFinal, length, isMasked }: Frame): Buffer {
  const mask = isMasked ? 0x80 : 0;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = (isFinal ? 0x80 : 0) | opcode;
  if (length < 126) head[1] = mask | length;
  else if (length < 65_536) {
    head[1] = mask | 126;
    head.writeUInt16BE(length, 2);
  } else {
    head[1] = mask | 127;
    head.writeBigUInt64BE(BigInt(length), 2);
  }
  return Buffer.concat([head, Buffer.alloc(isMasked ? 4 : 0, 1), Buffer.alloc(length, 0x89)]);
}

const length = fc.oneof(fc.constantFrom(0, 1, 125, 126, 127, 65_535, 65_536), fc.nat(300));
const frame = fc.record({
  opcode: fc.constantFrom(1, 0, 2, 9, 10),
  isFinal: fc.boolean(),
  length,
  isMasked: fc.boolean(),
});

/** Control frames are always final. A message ends with a final data frame, whatever control frames come between. */
function expectedOf(frames: readonly Frame[]): { complete: number; isWithin: boolean } {
  let complete = 0;
  let isWithin = false;
  for (const { opcode, isFinal } of frames) {
    if (opcode < 8) isWithin = !isFinal;
    if (!isWithin) complete += 1;
  }
  return { complete, isWithin };
}

test('messages are counted when they are complete, however their bytes are divided', () => {
  fc.assert(
    fc.property(
      fc.array(frame, { maxLength: 8 }),
      fc.array(fc.integer({ min: 1, max: 5_000 }), { minLength: 1 }),
      (given, sizes) => {
        const frames = given.map((each) =>
          each.opcode < 8 ? each : { ...each, isFinal: true, length: each.length % 126 },
        );
        const bytes = Buffer.concat(frames.map(bytesOf));
        const opcodes: number[] = [];
        const reader = new FrameReader((opcode) => opcodes.push(opcode));
        for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
          const size = sizes[turn % sizes.length] ?? 1;
          reader.read(bytes.subarray(at, at + size));
          at += size;
        }
        expect({ complete: reader.complete, isWithin: reader.isWithin, opcodes }).toEqual({
          ...expectedOf(frames),
          opcodes: frames.map(({ opcode }) => opcode),
        });
      },
    ),
  );
});

test('a message is not complete without its last byte, be it of a header or of a payload', () => {
  for (const each of [0, 1, 126, 65_536].map((size) =>
    bytesOf({ opcode: 1, isFinal: true, length: size, isMasked: true }),
  )) {
    const reader = new FrameReader(() => undefined);
    for (let end = 1; end < each.length; end += 1) {
      reader.read(each.subarray(end - 1, end));
      expect([reader.isWithin, reader.complete]).toEqual([true, 0]);
    }
    reader.read(each.subarray(-1));
    expect([reader.isWithin, reader.complete]).toEqual([false, 1]);
  }
});
