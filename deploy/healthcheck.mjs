/**
 * The image's HEALTHCHECK: asks the container's program for its liveness. Not for its readiness, because a restart while the
 * database is unavailable would end the agents.
 */
import fs from 'node:fs'

const { PORT, LISTENER_PORT, BUILDER_PORT, DOOR_HEALTH_PORT } = process.env
const ports = {
  serve: PORT || 8080,
  listener: LISTENER_PORT || 8081,
  builder: BUILDER_PORT || 8082,
  door: DOOR_HEALTH_PORT || 8083,
}
// with an init process, its command line contains the program's
const words = fs.readFileSync('/proc/1/cmdline', 'utf8').split('\0')
const program = words.find((word) => Object.hasOwn(ports, word)) ?? 'serve'
const answer = await fetch(`http://127.0.0.1:${ports[program]}/healthz`)
if (!answer.ok) throw new Error(`${program} answers ${answer.status}`)
