/** The logger interface of this program. app/logger.ts implements it with pino. */
export interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
