(** Products: one row of cells "*" per digit of the multiplier, the highest first. *)

From Digitwise Require Export Follows.

(** The wiring: the cell at place p of the row of the digit m sees m x_p, where x is the multiplicand, and hears the
    cell at place p - 1 of its row and the cell at place p - 1 of the row before. *)
Definition product_places (m : ascii) (x : list ascii) (heard : list (option N)) : list (place N) :=
  map (fun xh => Place "*"%char [m; fst xh] (snd xh)) (combine x heard).

(** [heard] is what the row hears from the row before, by places; [last] is what that row wrote. *)
Fixpoint product_rows (t : table) (x : list ascii) (heard : list (option N)) (last : list ascii) (ms : list ascii)
    : option (list ascii) :=
  match ms with
  | [] => Some last
  | m :: ms =>
      match row (cell t) None (product_places m x heard) with
      | None => None
      | Some r => product_rows t x (None :: map to_row r) (written r) ms
      end
  end.

(** [ms]: the digits of the multiplier, the highest first. The first row hears nothing from another row. *)
Definition run_product (t : table) (ms x : list ascii) : option (list ascii) :=
  product_rows t x (repeat None (length x)) [] ms.

(** * The plan: whether this is the first row, its digit, a carry, and the phase of the multiplicand.
    What a cell tells the next row is its digit, and whether the multiplicand is over there. That is heard at the place
    above, in a row that has just read the same symbol of the multiplicand. *)

Module Product.
  Definition state : Type := bool * N * N * phase.
  Definition meaning : Type := bool * N.

  Definition state_eq (a b : state) : {a = b} + {a <> b}.
  Proof. repeat decide equality. Defined.

  Definition meaning_eq (a b : meaning) : {a = b} + {a <> b}.
  Proof. repeat decide equality. Defined.

  (** Whether the multiplicand is over at the place that was read last. *)
  Definition ended (f : phase) : bool := match f with Over => true | _ => false end.

  Lemma after_pad f c f' : after f c = Some f' -> ended f' = Ascii.eqb c pad.
  Proof.
    unfold after. destruct (in_dec _ _ _); [|easy].
    destruct f, (Ascii.eqb c pad); try easy; intros E; injection E as <-; try reflexivity; now destruct (Ascii.eqb _ _).
  Qed.

  (** The digit heard: nothing is heard, and counts 0, in the first row and at the lowest place. *)
  Definition heard (first : bool) (f : phase) (h : option meaning) : option N :=
    match first || is_first f, h with
    | true, None => Some 0
    | false, Some (over, d) => if Bool.eqb over (ended f) then Some d else None
    | _, _ => None
    end.

  Definition plan (s : state) (p : place meaning) : option (doing (S := state) (T := meaning)) :=
    let '(first, m, carry, f) := s in
    match Ascii.eqb (stands p) "*", sees p with
    | true, [c; x] =>
        match Ascii.eqb c (digit m), after f x, heard first f (hears p) with
        | true, Some f', Some d =>
            let total := m * count x + d + carry in
            Some (Do (first, m, total / 10, f') (Some (digit (total mod 10)))
              (Some (ended f', total mod 10)))
        | _, _, _ => None
        end
    | _, _ => None
    end.

  Definition shapes (s : state) : list (ascii * list ascii) :=
    let '(_, m, _, _) := s in map (fun x => ("*"%char, [digit m; x])) symbols.

  Definition key (s : state) : N :=
    let '(first, m, carry, f) := s in mix (mix (mix (N.b2n first) m) carry) (phase_key f).

  Definition start (first : bool) (m : N) : state := (first, m, 0, First).

  Definition starts : list state := map (start true) ten ++ map (start false) ten.

  (** Situations in which the table does not do what the plan does; to be computed for a given table. *)
  Definition wrong : table -> list situation := wrong state_eq meaning_eq key plan shapes starts.

  Lemma shapes_are_all s p d : plan s p = Some d -> In (stands p, sees p) (shapes s).
  Proof.
    destruct s as [[[first m] carry] f]. unfold plan.
    destruct (Ascii.eqb_spec (stands p) "*") as [->|]; [|easy].
    destruct (sees p) as [|c [|x []]]; try easy.
    destruct (Ascii.eqb_spec c (digit m)) as [->|]; [|easy].
    destruct (after f x) as [|] eqn:X; [|easy]. intros _.
    apply (in_map (fun x => ("*"%char, [digit m; x]))). eapply after_is_symbol. exact X.
  Qed.

  Lemma start_in first m : m < 10 -> In (start first m) starts.
  Proof. intros H. apply in_or_app. destruct first; [left|right]; apply in_map, below_ten, H. Qed.

  (** Whether x is over at a place. *)
  Definition is_over (low : bool) (x : N) : bool := negb low && (x =? 0).

  (** Places of a row over x that hears the digits of s; [over]: x is over at the place below. *)
  Fixpoint places (first low over : bool) (P : nat) (m x s : N) : list (place meaning) :=
    match P with
    | O => []
    | S P =>
        Place "*"%char [digit m; if is_over low x then pad else digit (x mod 10)]
          (if first || low then None else Some (over, s mod 10))
        :: places first false (is_over low x) P m (x / 10) (s / 10)
    end.

  (** What the places of a row over x tell that has written n. *)
  Fixpoint told (low : bool) (P : nat) (x n : N) : list meaning :=
    match P with
    | O => []
    | S P => (is_over low x, n mod 10) :: told false P (x / 10) (n / 10)
    end.

  (** The plan multiplies and adds. *)
  Lemma plan_multiplies P : forall first low over m carry f x s,
    holds f x -> is_first f = low -> ended f = over -> (first = true -> s = 0) -> (low = true -> s mod 10 = 0) ->
    exists ds, planned plan (first, m, carry, f) (places first low over P m x s) = Some ds
      /\ map writes ds = map Some (zeros P (m * x + s + carry))
      /\ map tells ds = map Some (told low P x (m * x + s + carry)).
  Proof.
    induction P as [|P IH]; intros first low over m carry f x s Hx Fx Ox S1 S2; [now exists []|].
    destruct (after_top f x Hx) as (f' & A & Hx' & Fx').
    pose proof (count_top f x Hx) as C. pose proof (after_pad f _ f' A) as O. rewrite top_is_pad in O.
    set (total := m * (x mod 10) + s mod 10 + carry).
    assert (m * x + s + carry = total + 10 * (m * (x / 10) + s / 10)) as E.
    { unfold total. rewrite (N.div_mod x 10) at 1 by easy. rewrite (N.div_mod s 10) at 1 by easy. lia. }
    destruct (IH first false (is_over low x) m (total / 10) f' (x / 10) (s / 10)) as (ds & D & W & M);
      [assumption|assumption|now rewrite O, Fx|intros F; now rewrite (S1 F)|easy|].
    assert (heard first f (if first || low then None else Some (over, s mod 10)) = Some (s mod 10)) as Hd.
    { unfold heard. rewrite Fx. destruct first; cbn; [now rewrite (S1 eq_refl)|].
      destruct low; cbn; [now rewrite (S2 eq_refl)|]. now rewrite Ox, Bool.eqb_reflx. }
    unfold top in *. rewrite Fx in *. fold (is_over low x) in *.
    eexists. cbn [places planned]. unfold plan at 1. cbn [stands sees hears].
    rewrite !Ascii.eqb_refl, A. replace (heard _ _ _) with (Some (s mod 10)) by (symmetry; exact Hd).
    rewrite C, O. fold total. cbn [next]. rewrite D. split; [reflexivity|].
    replace (m * (x / 10) + s / 10 + total / 10) with ((m * x + s + carry) / 10) in W, M by (rewrite E; lia).
    unfold zeros in *. cbn [digits told map writes tells]. rewrite W, M.
    replace (total mod 10) with ((m * x + s + carry) mod 10) by (rewrite E; lia). now split.
  Qed.

  (** The wiring gives a row the places of the plan. *)
  Lemma like_first rows P : forall low over m x,
    Forall2 (like rows) (product_places (digit m) (word_from low P x) (repeat None P)) (places true low over P m x 0).
  Proof.
    induction P as [|P IH]; intros low over m x; [constructor|].
    unfold product_places. cbn [word_from repeat combine map places]. constructor; [now repeat split|]. apply IH.
  Qed.

  Lemma like_above rows P : forall Q hs low m x s, (P <= Q)%nat -> Forall2 (means rows) hs (map Some (told low Q x s)) ->
    Forall2 (like rows) (product_places (digit m) (word_from false P (x / 10)) hs)
      (places false false (is_over low x) P m (x / 10) s).
  Proof.
    induction P as [|P IH]; intros Q hs low m x s L F; [constructor|].
    destruct Q as [|Q]; [lia|]. cbn [told map] in F. inversion F as [|h m' hs' l M F']; subst.
    unfold product_places. cbn [word_from combine map places]. constructor.
    - repeat split. exact M.
    - apply IH with (Q := Q); [lia|exact F'].
  Qed.

  Lemma like_next rows P hs over m x s : Forall2 (means rows) hs (map Some (told true P x s)) ->
    Forall2 (like rows) (product_places (digit m) (word P x) (None :: hs)) (places false true over P m x (10 * s)).
  Proof.
    intros F. destruct P as [|P]; [constructor|]. unfold product_places, word. cbn [word_from combine map places].
    constructor; [now repeat split|]. replace (10 * s / 10) with s by lia.
    apply like_above with (Q := S P); [lia|exact F].
  Qed.

  Section Rows.
    Variables (t : table) (pairs : list (option N * state)) (rows : list (N * meaning)).
    Hypothesis nothing_wrong : wrong_in state_eq meaning_eq key plan shapes t pairs rows = [].
    Hypothesis start_pairs : starts_in starts pairs.

    (** One row, with s (ten times what the row before has) and m x. *)
    Lemma one_row P first m x s heard :
      m < 10 -> (first = true -> s = 0) -> s mod 10 = 0 ->
      Forall2 (like rows) (product_places (digit m) (word P x) heard) (places first true false P m x s) ->
      exists r, row (cell t) None (product_places (digit m) (word P x) heard) = Some r
        /\ written r = zeros P (m * x + s) /\ Forall2 (means rows) (map to_row r) (map Some (told true P x (m * x + s))).
    Proof.
      intros Hm S1 S2 L.
      destruct (plan_multiplies P first true false m 0 First x s) as (ds & D & W & M); try easy.
      rewrite N.add_0_r in *.
      destruct (row_follows _ _ _ _ _ shapes_are_all _ _ _ _ nothing_wrong start_pairs _ _ _ _
        (start_in first m Hm) L D) as (r & R & F).
      exists r. split; [exact R|]. split; [eapply does_written|eapply does_told]; eauto.
    Qed.

    Lemma all_rows P x ms : are_digits ms -> forall s hs,
      Forall2 (means rows) hs (map Some (told true P x s)) ->
      product_rows t (word P x) (None :: hs) (zeros P s) (map digit ms)
        = Some (zeros P (fold_left (fun s m => m * x + 10 * s) ms s)).
    Proof.
      induction 1 as [|m ms Hm _ IH]; intros s hs F; [reflexivity|]. cbn [map product_rows fold_left].
      destruct (one_row P false m x (10 * s) (None :: hs)) as (r & R & W & M);
        [assumption|easy|lia|now apply like_next|].
      rewrite R, W. now apply IH.
    Qed.
  End Rows.

  Lemma schoolbook x ms : forall s,
    fold_left (fun s m => m * x + 10 * s) ms (s * x) = fold_left (fun s m => m + 10 * s) ms s * x.
  Proof.
    induction ms as [|m ms IH]; intros s; [reflexivity|]. cbn [fold_left]. rewrite <- IH. f_equal. lia.
  Qed.

  Lemma number_rev ms : fold_left (fun s m => m + 10 * s) ms 0 = number (rev ms).
  Proof.
    rewrite <- (fold_left_rev_right (fun m s => m + 10 * s)). generalize (rev ms) as ds.
    induction ds as [|d ds IH]; [reflexivity|]. cbn [fold_right number]. now rewrite IH.
  Qed.
End Product.

(** The theorem. If the check of a table finds nothing wrong, its rows of cells multiply: for every multiplier, given by
    its digits, the highest first, and every multiplicand x, on any number P of places, the last row writes the lowest
    P digits of the product. *)
Theorem product_right_on_digits t : Product.wrong t = [] ->
  forall (ms : list N) (x : N) (P : nat), ms <> [] -> are_digits ms ->
  run_product t (map digit ms) (word P x) = Some (zeros P (number (rev ms) * x)).
Proof.
  intros H ms x P NE D. destruct (found _ _ _ _ _ _ _ H) as (pairs & rows & G & S).
  destruct D as [|m ms Hm D]; [easy|]. unfold run_product. cbn [map product_rows].
  unfold word at 2. rewrite length_word.
  destruct (Product.one_row t pairs rows G S P true m x 0 (repeat None P)) as (r & R & W & M);
    [assumption|easy|easy|apply Product.like_first|].
  rewrite R, W, (Product.all_rows t pairs rows G S P x ms D _ _ M). do 2 f_equal.
  rewrite N.add_0_r, Product.schoolbook. f_equal. rewrite <- Product.number_rev. cbn [fold_left]. now rewrite N.add_0_r.
Qed.

(** The same for numbers: the value of the symbols of the last row is m * x, if the multiplier m has at most k digits,
    there are k rows, one for each digit of m, and the product has at most P digits. *)
Theorem product_right t : Product.wrong t = [] ->
  forall (m x : N) (k P : nat), (0 < k)%nat -> m < 10 ^ N.of_nat k ->
  run_product t (rev (zeros k m)) (word P x) = Some (zeros P (m * x)).
Proof.
  intros H m x k P K L. unfold zeros at 1. rewrite <- map_rev, (product_right_on_digits t H).
  - now rewrite rev_involutive, number_digits.
  - destruct k; [lia|]. intros E. apply (f_equal (@length N)) in E. rewrite rev_length in E. easy.
  - apply Forall_rev, digits_are_digits.
Qed.

Corollary product_right_value t : Product.wrong t = [] ->
  forall (m x : N) (k n P : nat), (0 < k)%nat -> m < 10 ^ N.of_nat k -> x < 10 ^ N.of_nat n -> (k + n <= P)%nat ->
  exists answer, run_product t (rev (zeros k m)) (word P x) = Some answer /\ value answer = m * x.
Proof.
  intros H m x k n P K Hm Hx L. exists (zeros P (m * x)). split; [now apply product_right|]. apply value_zeros.
  apply N.lt_le_trans with (10 ^ N.of_nat (k + n)); [|apply N.pow_le_mono_r; lia].
  rewrite Nat2N.inj_add, N.pow_add_r. nia.
Qed.
