-- SPDX-License-Identifier: MIT
-- GHC: makes garbage until it has collected so often; what it counts itself of each.
-- Run it with +RTS -T -RTS.
--
--     ./churn 50          waits for a line before it begins and before it ends
--
-- "gc NUMBER NS GENERATION" is a collection, numbered from 1.
module Main (main) where

import Control.Monad (forM_, when)
import Data.IORef
import qualified Data.Map.Strict as Map
import Data.Word (Word32)
import GHC.Stats
import System.Environment (getArgs)
import System.IO
import System.Mem (performGC, performMinorGC)
import System.Posix.Internals (c_getpid)

type Log = IORef (Word32, [(Word32, GCDetails)])

-- The latest collection; asked so often that two are hardly ever between.
note :: Log -> IO ()
note entries = do
  stats <- getRTSStats
  (number, before) <- readIORef entries
  when (gcs stats /= number) $ writeIORef entries (gcs stats, (gcs stats, gc stats) : before)

churn :: Log -> IORef (Map.Map Int [Int]) -> Word32 -> Int -> IO ()
churn entries kept end i = do
  let new = [i .. i + 20]
  when (sum new >= 0) $ modifyIORef' kept (Map.insert (i `mod` 20000) new)
  note entries
  (number, _) <- readIORef entries
  when (number < end) $ churn entries kept end (i + 1)

main :: IO ()
main = do
  hSetBuffering stdout LineBuffering
  [wanted] <- getArgs
  pid <- c_getpid
  putStrLn ("ready " ++ show pid)
  _ <- getLine
  before <- getRTSStats
  entries <- newIORef (gcs before, [])
  kept <- newIORef Map.empty
  churn entries kept (gcs before + read wanted) 0
  performMinorGC
  note entries
  performGC
  note entries
  after <- getRTSStats
  (_, noted) <- readIORef entries
  forM_ (reverse noted) $ \(number, g) -> putStrLn $ unwords
    ["gc", show (number - gcs before), show (gcdetails_elapsed_ns g), show (gcdetails_gen g)]
  putStrLn ("done gcs=" ++ show (gcs after - gcs before) ++ " major=" ++ show (major_gcs after - major_gcs before))
  _ <- getLine
  return ()
