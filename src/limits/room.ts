/** Room for what lasts (streams, long polls): so many places for each workspace, first come, first served. */
import type { Room } from '../domain/room.ts'

/** `most`: places of each key; 0: no limit */
export function createRoom(most: number): Room {
  const taken = new Map<string, number>()
  let all = 0
  return {
    most,
    get taken() {
      return all
    },
    take(key) {
      const before = taken.get(key) ?? 0
      if (most > 0 && before >= most) return null
      taken.set(key, before + 1)
      all++
      let left = false
      return () => {
        if (left) return
        left = true
        all--
        const now = taken.get(key)! - 1
        if (now > 0) taken.set(key, now)
        else taken.delete(key)
      }
    },
  }
}
