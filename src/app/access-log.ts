/** Checks the setting of the access log at the start. */
import { ConfigError } from '../platform/config/config.ts'
import { openToAppend } from '../platform/files/append.ts'

/** Throws ConfigError when the file can't be opened. Undefined: no log. */
export async function checkAccessLog(file: string | undefined): Promise<void> {
  if (file === undefined) return
  const handle = await openToAppend(file).catch((cause: Error) => {
    throw new ConfigError(`APPS_ACCESS_LOG: ${cause.message}`, { cause })
  })
  await handle.close()
}
