/** The little of a logger that this program's parts use. Implemented by pino (app/logger.ts). */
export interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
