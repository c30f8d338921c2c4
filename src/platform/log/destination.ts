/** Writes log lines to stdout: JSON for a log shipper, or readable text for a terminal. */
import { type DestinationStream, pino } from 'pino'

export const LOG_FORMATS = ['auto', 'json', 'pretty'] as const

export type LogFormat = (typeof LOG_FORMATS)[number]

/** Fields for machines only; people read the message. */
const FOR_MACHINES = 'pid,requestId,workspaceId,deploymentId,revisionId,type'

/** `auto`: readable on a terminal, otherwise JSON. Unbuffered: a line is written when the call returns. */
export async function logDestination(format: LogFormat): Promise<DestinationStream> {
  const readable = format === 'pretty' || (format === 'auto' && process.stdout.isTTY)
  if (!readable) return pino.destination({ fd: 1, sync: true })
  // loaded only when needed
  const { default: pretty } = await import('pino-pretty')
  return pretty({
    destination: 1,
    sync: true,
    colorize: process.stdout.isTTY && process.stdout.hasColors(),
    translateTime: 'SYS:HH:MM:ss',
    ignore: FOR_MACHINES,
    singleLine: true,
    errorLikeObjectKeys: ['err'],
  })
}
